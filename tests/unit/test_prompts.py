"""The paper's prompts are byte for byte the authors'; what is carried is configuration."""

import os
from pathlib import Path

import pytest

from evalooop import datasets
from evalooop.errors import UserError
from evalooop.plan import expand
from evalooop.prompts import check_templates, describe_messages, generate_messages, next_words, without_tests
from evalooop.tasks import Suite, Task


def prompt(name):
    return expand(Path("conf"), "test", (f"prompt={name}",)).runs[0].config.prompt


def task(name, sentence, assertion):
    suite = Suite("base", ((1,),), (1,))
    words = f'"""\n{sentence}\n{assertion}\n"""\n'
    return Task(f"Test/{name}", words, name, "", "", assertion, f"def {name}(x):", (suite,))


TASKS = [
    task("cube", "Write a function to cube a number.", "assert cube(2) == 8"),
    task("tail", "Give the last {item} of a list & <more>.", 'assert tail([1, "a"]) == "a"'),
    task("ünder", "Repeat \\n and ${x} as they are.", "assert ünder('{{ x }}') == ''"),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.entry_point)
def test_paper_prompts_are_the_authors_bytes(task):
    (asked,) = generate_messages(prompt("paper"), task, task.prompt, task.assertion)
    assert asked.role == "user"
    assert asked.content == (
        "Generate Python code for the following task: \n" + task.prompt + "\n"
        "Return only the code, without explanations or comments."
    )
    code = f"def {task.entry_point}(x):\n    return '{{{{ x }}}}'"
    (described,) = describe_messages(prompt("paper"), task, code)
    assert described.content == (
        "Use one sentence to summarize the following code and start with write a python function to:\n\n"
        "```\n" + code + "\n```\n\n```\nwrite a python function to\n```"
    )
    assert next_words(prompt("paper"), task, "  write a python function to do it. \n", task.assertion) == (
        '"""\nwrite a python function to do it.\n' + task.assertion + '\n"""\n'
    )


def test_the_carried_line_is_the_same_in_every_loop_and_can_be_left_out():
    """Row S13: the line comes from the task, never from a position in the last prompt."""
    words = TASKS[0].prompt
    for description in ("one line", "two\nlines", "", 'a stray """ quote'):
        words = next_words(prompt("paper"), TASKS[0], description, TASKS[0].carried("assert"))
        assert words.splitlines()[-2] == "assert cube(2) == 8"
    assert next_words(prompt("paper"), TASKS[0], "words", TASKS[0].carried("none")) == '"""\nwords\n"""\n'
    assert "def cube(x):" in next_words(prompt("paper"), TASKS[0], "words", TASKS[0].carried("signature"))


def test_plain_chat_names_the_function_and_asks_for_one_block():
    (asked,) = generate_messages(prompt("plain_chat"), TASKS[0], TASKS[0].prompt, "")
    assert "`cube`" in asked.content
    assert "one Python code block" in asked.content


def test_a_system_message_comes_first():
    spoken = prompt("paper")
    spoken.system = "You write code."
    assert [message.role for message in generate_messages(spoken, TASKS[0], "w", "")] == ["system", "user"]


def test_every_prompt_variant_renders():
    for path in Path("conf/prompt").glob("*.yaml"):
        check_templates(prompt(path.stem))


def test_a_broken_template_names_its_key():
    broken = prompt("paper")
    broken.describe = "{% if %}"
    with pytest.raises(UserError, match=r"prompt\.describe"):
        check_templates(broken)


DATA = Path(os.environ.get("EVALOOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))
VARIANTS = sorted(path.stem for path in Path("conf/prompt").glob("*.yaml"))


def loaded(loader):
    tasks = datasets.load(loader)
    return list(tasks.values() if isinstance(tasks, dict) else tasks)


@pytest.mark.parametrize("loader", ["starter", "humaneval", "mbppplus", "humanevalplus"])
@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_asks_for_every_task(name, loader, monkeypatch):
    """The task's own words and the framed description reach the model whole, but for what the variant takes out."""
    if loader.endswith("plus") and not (DATA / loader).is_dir():
        pytest.skip(f"no {loader} in {DATA}")
    monkeypatch.setenv("EVALOOOP_DATA", str(DATA))
    spoken = prompt(name)
    for one in loaded(loader)[:40]:
        carried = one.carried("assert" if loader == "mbppplus" else "signature")
        (*_, asked) = generate_messages(spoken, one, one.prompt, carried)
        words = next_words(spoken, one, "gives back what was asked", carried)
        (*_, again) = generate_messages(spoken, one, words, carried)
        (*_, described) = describe_messages(spoken, one, "def f():\n    return 1")
        assert "def f():\n    return 1" in described.content
        assert "gives back what was asked" in again.content
        if name == "no_tests":
            for text in (asked.content, words, again.content):
                assert "assert " not in text
                assert ">>>" not in text
                assert one.signature in text
        else:
            assert one.prompt in asked.content
            assert words in again.content
        if name == "signature_only":
            assert one.signature in words
            assert "assert" not in words


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('"""\nAdd.\nassert f(1) == 2\n"""\n', '"""\nAdd.\n"""\n'),
        ('def f(x):\n    """Add.\n\n    >>> f(1)\n    2\n    """\n', 'def f(x):\n    """Add.\n\n    """\n'),
        ('def f(x):\n    """Add.\n    Example:\n    >>> f(1)\n    2"""\n', 'def f(x):\n    """Add.\n    """\n'),
        (">>> f(1)\n2\n\nAdd one.\n", "\nAdd one.\n"),
        ("We assert that it adds.\nasserted: f(1) is 2", "We assert that it adds.\nasserted: f(1) is 2"),
        ("", ""),
    ],
)
def test_tests_are_taken_out_of_a_text(text, left):
    assert without_tests(text) == left
