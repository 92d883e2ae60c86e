# EvaLooop's loop, unrolled: generate (describe the survivors, write their next programs), then execute.


rule generate:
    input:
        code=sources("scripts.generate"),
        runs="results/{experiment}/{session}/runs.json",
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
    # A session of a server waits more than it works: others run beside it.
    threads: lambda w: ALL_CORES if gpus([plan(w).models[w.session]]) else 1
    resources:
        gpu=lambda w: gpus([plan(w).models[w.session]]),
        processes=1,
    params:
        previous=lambda w, input: (
            f"--previous {Path(input.previous[0]).parent}" if input.previous else ""
        ),
    shell:
        "python $([ {resources.processes} -gt 1 ] &&"
        " echo -m torch.distributed.run --standalone --nproc_per_node {resources.processes})"
        " -m scripts.generate --runs {input.runs:q} --session {wildcards.session:q} --loop {wildcards.loop}"
        " --datasets {input.datasets:q} --card {input.card:q} {params.previous}"
        " --store resources/completions.sqlite --out {output.rows:q} --timing {output.timing:q} |& tee {log:q} >&2"


rule execute:
    input:
        code=sources("scripts.execute"),
        inside=sorted(map(str, Path("evalooop/sandbox/inside").glob("*.py"))),
        runs="results/{experiment}/{session}/runs.json",
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
        sandbox=settings("sandbox"),
    shell:
        "python -m scripts.execute --runs {input.runs:q} --session {wildcards.session:q} --loop {wildcards.loop}"
        " --generated {input.rows:q} --datasets {input.datasets:q} --sandbox {params.sandbox:q} --workers {threads}"
        " --store resources/verdicts.sqlite --out {output.rows:q} --timing {output.timing:q} |& tee {log:q} >&2"
