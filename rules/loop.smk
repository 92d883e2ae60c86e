# EvaLooop's loop, unrolled: generate (describe the survivors, write their next programs), then execute.
# The plan is `ancient`: it orders the jobs, while `digest` says whether a job's own part of it has changed.


rule generate:
    input:
        code=sources("scripts.generate"),
        plan=ancient("results/{experiment}/plan.json"),
        card="results/{experiment}/models/{session}.json",
        datasets=dataset_files,
        previous=previous_loop,
    output:
        rows="results/{experiment}/{session}/loop{loop}/generated.jsonl",
        timing="results/{experiment}/{session}/loop{loop}/generated.timing.json",
    log:
        "results/{experiment}/logs/generate_{session}_{loop}.log",
    benchmark:
        "results/{experiment}/benchmarks/generate_{session}_{loop}.tsv"
    conda:
        "../envs/evalooop.yaml"
    threads: ALL_CORES
    resources:
        gpu=1,
    params:
        digest=digest(),
        previous=lambda w, input: (
            f"--previous {Path(input.previous[0]).parent}" if input.previous else ""
        ),
    shell:
        "python -m scripts.generate --plan {input.plan:q} --session {wildcards.session:q} --loop {wildcards.loop}"
        " --datasets {input.datasets:q} --card {input.card:q} {params.previous}"
        " --store resources/completions.sqlite --out {output.rows:q} --timing {output.timing:q} |& tee {log:q} >&2"


rule execute:
    input:
        code=sources("scripts.execute"),
        plan=ancient("results/{experiment}/plan.json"),
        datasets=dataset_files,
        rows="results/{experiment}/{session}/loop{loop}/generated.jsonl",
    output:
        rows="results/{experiment}/{session}/loop{loop}/verdicts.jsonl",
        timing="results/{experiment}/{session}/loop{loop}/verdicts.timing.json",
    log:
        "results/{experiment}/logs/execute_{session}_{loop}.log",
    benchmark:
        "results/{experiment}/benchmarks/execute_{session}_{loop}.tsv"
    conda:
        "../envs/evalooop.yaml"
    threads: ALL_CORES
    params:
        digest=digest("sandbox"),
    shell:
        "python -m scripts.execute --plan {input.plan:q} --session {wildcards.session:q} --loop {wildcards.loop}"
        " --generated {input.rows:q} --datasets {input.datasets:q} --workers {threads}"
        " --store resources/verdicts.sqlite --out {output.rows:q} --timing {output.timing:q} |& tee {log:q} >&2"
