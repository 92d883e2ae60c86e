"""A tiny model that has learnt its lines: it plays known chains, so that a whole workflow can be tested in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalooop.config import PromptConfig
from evalooop.engines import Message
from evalooop.prompts import describe_messages, generate_messages, next_words
from evalooop.tasks import Task
from tests.tiny import BOS, CHAT_TEMPLATE, END, PAD

ADDS = "Adds the numbers of a list."
SQUARES = "Gives n times n."
MULTIPLIES = "Gives a times b."
DRIFTED = "Gives a and b together."

TOTAL = "def total(numbers):\n    return sum(numbers)"
SQUARE = "def square(n):\n    return n * n"
DOUBLED = "def square(n):\n    return n + n"
MULTIPLY = "def multiply(a, b):\n    return a * b"
MULTIPLY_AGAIN = "def multiply(a, b):\n    return b * a"
ADDED = "def multiply(a, b):\n    return a + b"
LOWERED = "def to_upper(text):\n    return text.lower()"

# How many loops each chain lasts when three are run.
SUSTAINED = {"Starter/total": 3, "Starter/multiply": 2, "Starter/square": 1, "Starter/to_upper": 0}


def lines_of(tasks: dict[str, Task], prompt: PromptConfig) -> list[tuple[list[Message], str]]:
    """Return the conversations of the chains of ``SUSTAINED`` and what the model answers to each."""
    spoken: list[tuple[list[Message], str]] = []

    def writes(name: str, words: str, code: str) -> None:
        task = tasks[f"Starter/{name}"]
        spoken.append((generate_messages(prompt, task, words, task.signature), f"```python\n{code}\n```"))

    def describes(name: str, code: str, description: str) -> str:
        task = tasks[f"Starter/{name}"]
        spoken.append((describe_messages(prompt, task, code), description))
        return next_words(prompt, task, description, task.signature)

    for name, code in (("total", TOTAL), ("square", SQUARE), ("multiply", MULTIPLY), ("to_upper", LOWERED)):
        writes(name, tasks[f"Starter/{name}"].prompt, code)
    writes("total", describes("total", TOTAL, ADDS), TOTAL)
    writes("square", describes("square", SQUARE, SQUARES), DOUBLED)
    writes("multiply", describes("multiply", MULTIPLY, MULTIPLIES), MULTIPLY_AGAIN)
    writes("multiply", describes("multiply", MULTIPLY_AGAIN, DRIFTED), ADDED)
    return spoken


def build_parrot(folder: Path, spoken: Sequence[tuple[list[Message], str]]) -> Path:
    """Save a small Llama trained until it answers each conversation with its line, and return the folder.

    Raises:
        RuntimeError: it has not learnt them in 600 steps.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(1)
    tokenizer = _tokenizer([text for messages, line in spoken for text in (messages[-1].content, line)])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=64,
                intermediate_size=128,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=2048,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
        _train(model, tokenizer, spoken)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _train(model, tokenizer, spoken) -> None:
    import torch

    rows, masks = [], []
    for messages, line in spoken:
        turns = [vars(message) for message in messages]
        prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        answer = tokenizer(line + END, add_special_tokens=False)["input_ids"]
        rows.append(ids + answer)
        masks.append([-100] * len(ids) + answer)
    length = max(map(len, rows))
    inputs = torch.tensor([row + [tokenizer.pad_token_id] * (length - len(row)) for row in rows])
    labels = torch.tensor([mask + [-100] * (length - len(mask)) for mask in masks])
    attention = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(600):
        loss = model(input_ids=inputs, attention_mask=attention, labels=labels).loss
        if loss.item() < 5e-3:
            return
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    raise RuntimeError(f"the parrot has not learnt its lines: loss {loss.item():.3f}")


def _tokenizer(texts: list[str]):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=[BOS, END, PAD], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BOS, eos_token=END, pad_token=PAD)
    fast.chat_template = CHAT_TEMPLATE
    return fast
