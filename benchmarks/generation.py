"""Speed of our decode loop against transformers' `generate`, on the same model, prompts and lengths, in one run.

    python benchmarks/generation.py --model resources/models/smollm2-135m-…       # a real model, here
    python benchmarks/generation.py --random 7b                                   # random weights, on a GPU

Prints Markdown tables. Prompts are those of the starter tasks (of random tokens for random weights); lengths are
forced, so that every contender writes exactly as much.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

# As in the engine: waiting threads sleep.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, Qwen2Config

from evalooop.datasets import load
from evalooop.engines import Decoding, Message, chat
from evalooop.engines.decoding import decode
from evalooop.engines.draft import Language, Prompt

# Shapes of Qwen2.5-Coder, from the models' own config.json.
SHAPES = {
    "1.5b": {"hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12, "num_key_value_heads": 2},
    "7b": {"hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_key_value_heads": 4},
}
ENDLESS = Language(frozenset(), str, str)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--model", type=Path, help="folder of a model")
    which.add_argument("--random", choices=SHAPES, help="random weights of this shape")
    parser.add_argument("--batch", type=int, default=16, help="prompts side by side (default %(default)s)")
    parser.add_argument("--tokens", type=int, default=64, help="length of the equal answers (default %(default)s)")
    arguments = parser.parse_args()
    model = (
        random_model(arguments.random)
        if arguments.random
        else AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32, local_files_only=True)
    )
    model.eval()
    ids = random_prompts(arguments.batch) if arguments.random else starter_prompts(arguments.model, arguments.batch)
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{os.cpu_count()} cores"
    load_average = " ".join(f"{load:.2f}" for load in os.getloadavg())
    name = arguments.random or arguments.model.name
    print(f"{date.today()}, {where}, {name} in {model.dtype}, batch {arguments.batch}, load average {load_average}\n")
    ours(model, ids[:2], [2, 2], 2)  # the first call pays for set-up
    compare(model, ids, arguments.tokens)
    print()
    refill(model, ids, arguments.tokens)
    if torch.cuda.is_available():
        print()
        roofline(model, ids, arguments.tokens)


def compare(model: PreTrainedModel, ids: list[list[int]], tokens: int) -> None:
    """Print the table against `generate`: one prompt after the other, and all in a batch that keeps what has ended."""
    size = len(ids)
    equal = [tokens] * size
    uneven = [256, *[32] * (size - 1)]
    print("| answers | contender | tokens | seconds | tokens/s | times as fast |\n|---|---|---|---|---|---|")
    title = f"{size} of {tokens}"
    table(title, "generate, one by one", equal, base := seconds(lambda: [theirs(model, [row], tokens) for row in ids]))
    table(title, "ours", equal, seconds(lambda: ours(model, ids, equal, size)), base)
    title = f"{size - 1} of 32, one of 256"
    table(title, "generate, one batch to the end", uneven, base := seconds(lambda: theirs(model, ids, 256)))
    table(title, "ours", uneven, seconds(lambda: ours(model, ids, uneven, size)), base)


def refill(model: PreTrainedModel, ids: list[list[int]], tokens: int) -> None:
    """Print what it gains that waiting prompts take the places of ended answers: three batches of mixed lengths."""
    size = len(ids)
    many, lengths = ids * 3, [tokens // 4 * (1 + number % 4) for number in range(3 * size)]
    print("| answers | contender | tokens | seconds | tokens/s | times as fast |\n|---|---|---|---|---|---|")
    title = f"{3 * size} of {tokens // 4} to {tokens}"

    def batches() -> None:
        for start in range(0, 3 * size, size):
            ours(model, many[start : start + size], lengths[start : start + size], size)

    table(title, "ours, batch after batch", lengths, base := seconds(batches))
    table(title, "ours, refilled", lengths, seconds(lambda: ours(model, many, lengths, size)), base)


def table(title: str, contender: str, lengths: list[int], taken: float, base: float | None = None) -> None:
    times = f"{(base or taken) / taken:.1f}"
    print(
        f"| {title} | {contender} | {sum(lengths)} | {taken:.1f} | {sum(lengths) / taken:.1f} | {times} |", flush=True
    )


def roofline(model: PreTrainedModel, ids: list[list[int]], tokens: int) -> None:
    """Print the share of the memory's bandwidth that the decode loop reaches: each step reads weights and cache once.

    For CUDA; written where there is no GPU, and run there only once one is at hand.
    """
    weights = sum(parameter.nbytes for parameter in model.parameters())
    config = model.config
    place = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * model.dtype.itemsize
    cache = sum(place * (len(row) + step) for row in ids for step in range(tokens))
    taken = seconds(lambda: ours(model, ids, [tokens] * len(ids), len(ids)))
    block = torch.empty(2**30, dtype=torch.uint8, device=model.device)
    other = torch.empty_like(block)
    # A copy reads and writes.
    bandwidth = 2 * 20 * block.nbytes / seconds(lambda: [other.copy_(block) for _ in range(20)])
    share = (tokens * weights + cache) / bandwidth / taken
    print(f"bandwidth of a copy {bandwidth / 1e9:.0f} GB/s; share of it reached while decoding: {share:.0%}")


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started


def ours(model: PreTrainedModel, ids: list[list[int]], lengths: list[int], size: int) -> None:
    prompts = [
        Prompt(key, row, Decoding(most), 10**6) for key, (row, most) in enumerate(zip(ids, lengths, strict=True))
    ]
    answers = list(decode(model, prompts, ENDLESS, size))
    assert sorted(len(answer.draft.ids) for answer in answers) == sorted(lengths)


def theirs(model: PreTrainedModel, ids: list[list[int]], tokens: int) -> None:
    width = max(map(len, ids))
    rows = torch.tensor([[0] * (width - len(row)) + row for row in ids], device=model.device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids], device=model.device)
    made = model.generate(
        rows, attention_mask=mask, do_sample=False, min_new_tokens=tokens, max_new_tokens=tokens, pad_token_id=0
    )
    assert made.shape[1] == width + tokens


def starter_prompts(folder: Path, count: int) -> list[list[int]]:
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    texts = [f"Write this Python function.\n\n{task.prompt}" for task in load("starter")]
    return [
        chat.encode(tokenizer, chat.render(tokenizer, [Message("user", texts[number % len(texts)])]))
        for number in range(count)
    ]


def random_prompts(count: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(1000, 100_000, (150 + 10 * number,), generator=generator).tolist() for number in range(count)]


def random_model(shape: str) -> PreTrainedModel:
    config = Qwen2Config(vocab_size=152_064, num_hidden_layers=28, head_dim=128, **SHAPES[shape])
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        torch.manual_seed(0)
        return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)


if __name__ == "__main__":
    main()
