# From rows to numbers: the chain table, the judge's scores at its boundaries, ASL and the rest.


rule chains:
    input:
        code=sources("scripts.chains"),
        plan=ancient("results/{experiment}/plan.json"),
        generated=lambda w: loop_files(w, "generated.jsonl"),
        verdicts=lambda w: loop_files(w, "verdicts.jsonl"),
        timings=lambda w: loop_files(w, "generated.timing.json")
        + loop_files(w, "verdicts.timing.json"),
    output:
        chains="results/{experiment}/chains.parquet",
        cost="results/{experiment}/cost.json",
    log:
        "results/{experiment}/logs/chains.log",
    benchmark:
        "results/{experiment}/benchmarks/chains.tsv"
    conda:
        "../envs/evalooop.yaml"
    params:
        digest=digest(),
        folder=lambda w, output: Path(output.chains).parent,
    shell:
        "python -m scripts.chains --plan {input.plan:q} --folder {params.folder:q} --out {output.chains:q}"
        " --cost {output.cost:q} |& tee {log:q} >&2"


rule judge:
    input:
        code=sources("scripts.judge"),
        plan=ancient("results/{experiment}/plan.json"),
        chains="results/{experiment}/chains.parquet",
        cards=lambda w: expand(
            "results/{e}/models/{m}.json", e=w.experiment, m=plan(w).models
        ),
    output:
        "results/{experiment}/similarity.jsonl",
    log:
        "results/{experiment}/logs/judge.log",
    benchmark:
        "results/{experiment}/benchmarks/judge.tsv"
    conda:
        "../envs/evalooop.yaml"
    threads: ALL_CORES
    resources:
        gpu=1,
    params:
        digest=digest("judge"),
        cards=lambda w, input: Path(input.cards[0]).parent,
    shell:
        "python -m scripts.judge --plan {input.plan:q} --chains {input.chains:q} --cards {params.cards:q}"
        " --store resources/completions.sqlite --out {output:q} |& tee {log:q} >&2"


rule score:
    input:
        code=sources("scripts.score"),
        plan=ancient("results/{experiment}/plan.json"),
        chains="results/{experiment}/chains.parquet",
        similarity="results/{experiment}/similarity.jsonl",
    output:
        json="results/{experiment}/metrics.json",
        csv="results/{experiment}/metrics.csv",
    log:
        "results/{experiment}/logs/score.log",
    benchmark:
        "results/{experiment}/benchmarks/score.tsv"
    conda:
        "../envs/evalooop.yaml"
    params:
        digest=digest("score", "judge"),
    shell:
        "python -m scripts.score --plan {input.plan:q} --chains {input.chains:q} --similarity {input.similarity:q}"
        " --json {output.json:q} --csv {output.csv:q} |& tee {log:q} >&2"
