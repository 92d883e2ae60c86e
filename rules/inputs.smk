# What an experiment starts from: its plan, its models, its datasets.


rule plan:
    input:
        code=sources("scripts.plan"),
    output:
        "results/{experiment}/plan.json",
    log:
        "results/{experiment}/logs/plan.log",
    benchmark:
        "results/{experiment}/benchmarks/plan.tsv"
    conda:
        "../envs/evalooop.yaml"
    params:
        content=lambda w: plan(w).to_json(),
        overrides=lambda w: plan(w).overrides,
    shell:
        "python -m scripts.plan --name {wildcards.experiment:q} --out {output:q} {params.overrides:q} |& tee {log:q} >&2"


# A file for each session, so that a changed sweep reruns the sessions that it changes.
rule plan_session:
    input:
        code=sources("scripts.plan"),
    output:
        "results/{experiment}/{session}/runs.json",
    log:
        "results/{experiment}/logs/plan_{session}.log",
    benchmark:
        "results/{experiment}/benchmarks/plan_{session}.tsv"
    conda:
        "../envs/evalooop.yaml"
    params:
        content=lambda w: session_to_json(plan(w), w.session),
        overrides=lambda w: plan(w).overrides,
    shell:
        "python -m scripts.plan --name {wildcards.experiment:q} --session {wildcards.session:q} --out {output:q}"
        " {params.overrides:q} |& tee {log:q} >&2"


rule fetch_model:
    input:
        code=sources("scripts.fetch_model"),
    output:
        "results/{experiment}/models/{model}.json",
    log:
        "results/{experiment}/logs/fetch_model_{model}.log",
    benchmark:
        "results/{experiment}/benchmarks/fetch_model_{model}.tsv"
    conda:
        "../envs/evalooop.yaml"
    params:
        model=lambda w: json.dumps(asdict(plan(w).models[w.model])),
        # Not input files: a folder's name may hold braces, which Snakemake would take for wildcards.
        state=lambda w: path_state(plan(w).models[w.model]),
        folder=lambda w: model_folder(plan(w).models[w.model]),
    shell:
        "python -m scripts.fetch_model --model {params.model:q} --folder {params.folder:q} --card {output:q}"
        " |& tee {log:q} >&2"


rule fetch_dataset:
    input:
        code=sources("scripts.fetch_dataset"),
        loader=lambda w: sources(f"evalooop.datasets.{w.loader}"),
    output:
        "resources/datasets/{loader}.jsonl",
    log:
        "resources/logs/fetch_dataset_{loader}.log",
    benchmark:
        "resources/benchmarks/fetch_dataset_{loader}.tsv"
    conda:
        "../envs/evalooop.yaml"
    shell:
        "python -m scripts.fetch_dataset --loader {wildcards.loader:q} --out {output:q} |& tee {log:q} >&2"
