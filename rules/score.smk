# From rows to numbers: the chain table, the judge's scores at its boundaries, ASL and the rest, the audit.


rule chains:
    input:
        code=sources("scripts.chains"),
        runs=session_files,
        generated=lambda w: loop_files(w, "generated.jsonl"),
        verdicts=lambda w: loop_files(w, "verdicts.jsonl"),
    output:
        "results/{experiment}/chains.parquet",
    log:
        "results/{experiment}/logs/chains.log",
    benchmark:
        "results/{experiment}/benchmarks/chains.tsv"
    conda:
        "../envs/evalooop.yaml"
    shell:
        "python -m scripts.chains --runs {input.runs:q} --out {output:q} |& tee {log:q} >&2"


rule judge:
    input:
        code=sources("scripts.judge"),
        runs=session_files,
        chains="results/{experiment}/chains.parquet",
        cards=card_files,
    output:
        rows="results/{experiment}/similarity.jsonl",
        others="results/{experiment}/judges.jsonl",
        timing="results/{experiment}/similarity.timing.json",
    log:
        "results/{experiment}/logs/judge.log",
    benchmark:
        "results/{experiment}/benchmarks/judge.tsv"
    conda:
        "../envs/evalooop.yaml"
    threads: lambda w: ALL_CORES if gpus(judging_models(w)) else 1
    resources:
        gpu=lambda w: gpus(judging_models(w)),
    params:
        judges=judges,
        main=lambda w: plan(w).settings.judge.name,
        cards=lambda w, input: Path(input.cards[0]).parent,
    shell:
        "python -m scripts.judge --runs {input.runs:q} --chains {input.chains:q} --judges {params.judges:q} --main {params.main:q} --cards {params.cards:q}"
        " --store resources/completions.sqlite --out {output.rows:q} --others {output.others:q} --timing {output.timing:q}"
        " |& tee {log:q} >&2"


rule score:
    input:
        code=sources("scripts.score"),
        issues="evalooop/datasets/oracle_issues.json",
        runs=session_files,
        chains="results/{experiment}/chains.parquet",
        similarity="results/{experiment}/similarity.jsonl",
        others="results/{experiment}/judges.jsonl",
        cards=card_files,
        causes="evalooop/published_disagreements.json",
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
        judges=judges,
        main=lambda w: plan(w).settings.judge.name,
        settings=settings("score"),
        cards=lambda w, input: Path(input.cards[0]).parent,
    shell:
        "python -m scripts.score --runs {input.runs:q} --chains {input.chains:q} --similarity {input.similarity:q}"
        " --cards {params.cards:q}"
        " --experiment {wildcards.experiment:q} --judges {params.judges:q} --main {params.main:q} --others {input.others:q} --settings {params.settings:q}"
        " --json {output.json:q} --csv {output.csv:q} |& tee {log:q} >&2"


rule audit:
    input:
        code=sources("scripts.audit"),
        runs=session_files,
        chains="results/{experiment}/chains.parquet",
        similarity="results/{experiment}/similarity.jsonl",
        metrics="results/{experiment}/metrics.json",
        cards=card_files,
    output:
        json="results/{experiment}/audit.json",
        csv="results/{experiment}/audit.csv",
    log:
        "results/{experiment}/logs/audit.log",
    benchmark:
        "results/{experiment}/benchmarks/audit.tsv"
    conda:
        "../envs/evalooop.yaml"
    params:
        cards=lambda w, input: Path(input.cards[0]).parent,
    shell:
        "python -m scripts.audit --runs {input.runs:q} --chains {input.chains:q} --similarity {input.similarity:q}"
        " --metrics {input.metrics:q} --cards {params.cards:q} --json {output.json:q} --csv {output.csv:q}"
        " |& tee {log:q} >&2"


rule reliability:
    input:
        code=sources("scripts.reliability"),
        chains="results/{experiment}/chains.parquet",
        metrics="results/{experiment}/metrics.json",
    output:
        "results/{experiment}/reliability.json",
    log:
        "results/{experiment}/logs/reliability.log",
    benchmark:
        "results/{experiment}/benchmarks/reliability.tsv"
    conda:
        "../envs/evalooop.yaml"
    params:
        settings=settings("score"),
    shell:
        "python -m scripts.reliability --chains {input.chains:q} --metrics {input.metrics:q}"
        " --settings {params.settings:q} --out {output:q} |& tee {log:q} >&2"


rule cost:
    input:
        code=sources("scripts.cost"),
        generated=lambda w: loop_files(w, "generated.timing.json"),
        verdicts=lambda w: loop_files(w, "verdicts.timing.json"),
        judge="results/{experiment}/similarity.timing.json",
    output:
        "results/{experiment}/cost.json",
    log:
        "results/{experiment}/logs/cost.log",
    benchmark:
        "results/{experiment}/benchmarks/cost.tsv"
    conda:
        "../envs/evalooop.yaml"
    shell:
        "python -m scripts.cost --timings {input.generated:q} {input.verdicts:q} {input.judge:q} --out {output:q}"
        " |& tee {log:q} >&2"
