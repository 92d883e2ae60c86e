"""What runs inside the sandbox, as plain scripts on the bare standard library.

Only ``protocol`` is for the trusted side too. Nothing here knows an expected output.
"""
