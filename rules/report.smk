# What a reader opens: the manifest of what made the results, the figures, the page.


rule manifest:
    input:
        code=sources("scripts.manifest"),
        plan="results/{experiment}/plan.json",
        chains="results/{experiment}/chains.parquet",
        similarity="results/{experiment}/similarity.jsonl",
        cost="results/{experiment}/cost.json",
        cards=card_files,
        datasets=lambda w: expand(
            "resources/datasets/{loader}.jsonl", loader=plan(w).loaders()
        ),
    output:
        "results/{experiment}/manifest.json",
    log:
        "results/{experiment}/logs/manifest.log",
    benchmark:
        "results/{experiment}/benchmarks/manifest.tsv"
    conda:
        "../envs/evalooop.yaml"
    shell:
        "python -m scripts.manifest --plan {input.plan:q} --chains {input.chains:q}"
        " --similarity {input.similarity:q} --cost {input.cost:q} --cards {input.cards:q}"
        " --datasets {input.datasets:q} --out {output:q} |& tee {log:q} >&2"


rule figure:
    input:
        code=sources("scripts.figure"),
        module=lambda w: sources(f"evalooop.figures.{w.figure}"),
        chains="results/{experiment}/chains.parquet",
        metrics="results/{experiment}/metrics.json",
        audit="results/{experiment}/audit.json",
        reliability="results/{experiment}/reliability.json",
        cost="results/{experiment}/cost.json",
    output:
        multiext(
            "results/{experiment}/figures/{figure}", ".svg", ".pdf", ".png", ".csv"
        ),
    log:
        "results/{experiment}/logs/figure_{figure}.log",
    benchmark:
        "results/{experiment}/benchmarks/figure_{figure}.tsv"
    conda:
        "../envs/evalooop.yaml"
    params:
        settings=settings("figures"),
        stem=lambda w, output: Path(output[0]).with_suffix(""),
    shell:
        "python -m scripts.figure --name {wildcards.figure:q} --chains {input.chains:q} --metrics {input.metrics:q}"
        " --audit {input.audit:q} --reliability {input.reliability:q} --cost {input.cost:q} --settings {params.settings:q} --out-stem {params.stem:q} |& tee {log:q} >&2"


# `generated` and `cards` are inputs so that what an incomplete report deletes of them is made again.
rule report:
    input:
        code=sources("scripts.report"),
        page=Path("evalooop/report_template").glob("*"),
        plan="results/{experiment}/plan.json",
        chains="results/{experiment}/chains.parquet",
        metrics="results/{experiment}/metrics.json",
        similarity="results/{experiment}/similarity.jsonl",
        audit="results/{experiment}/audit.json",
        reliability="results/{experiment}/reliability.json",
        cost="results/{experiment}/cost.json",
        manifest="results/{experiment}/manifest.json",
        figures=lambda w: expand(
            "results/{e}/figures/{f}.svg",
            e=w.experiment,
            f=plan(w).settings.figures.names,
        ),
        generated=lambda w: loop_files(w, "generated.jsonl"),
        cards=card_files,
    output:
        page="results/{experiment}/report.html",
        chains=directory("results/{experiment}/report_chains"),
    log:
        "results/{experiment}/logs/report.log",
    benchmark:
        "results/{experiment}/benchmarks/report.tsv"
    conda:
        "../envs/evalooop.yaml"
    shell:
        "python -m scripts.report --plan {input.plan:q} --chains {input.chains:q} --metrics {input.metrics:q}"
        " --similarity {input.similarity:q} --audit {input.audit:q} --reliability {input.reliability:q} --cost {input.cost:q} --manifest {input.manifest:q}"
        " --figures {input.figures:q} --out {output.page:q} --pages {output.chains:q} |& tee {log:q} >&2"
