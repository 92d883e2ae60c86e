# EvaLooop: how long does a code model survive its own words?
#
#   snakemake --cores all                                    the demo: results/demo/report.html
#   snakemake --cores all results/NAME/report.html           the experiment conf/experiment/NAME.yaml
#   snakemake --cores all --config name=hot experiment=demo set='temperature=0.8'
#
# A job is (session, loop, stage): one model load asks for all runs and chains of a loop.

from snakemake.utils import min_version

min_version("9.20")


include: "rules/common.smk"
include: "rules/inputs.smk"
include: "rules/loop.smk"
include: "rules/score.smk"
include: "rules/report.smk"


# On a cluster, only what uses a GPU or many cores is submitted.
localrules:
    plan,
    plan_session,
    fetch_model,
    fetch_dataset,
    chains,
    audit,
    cost,
    score,
    reliability,
    manifest,
    figure,
    report,
    all,


rule all:
    default_target: True
    input:
        f"results/{EXPERIMENTS.default}/report.html",
