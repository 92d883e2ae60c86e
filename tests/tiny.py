"""A real transformers model of 40,000 random weights, for tests that need a model but not its wits."""

from __future__ import annotations

from pathlib import Path

from evalooop.config import ModelConfig
from evalooop.engines import Completion, Decoding, Message, Request
from evalooop.engines.hf import HFEngine
from evalooop.models import ModelCard, fetch

BOS, END, PAD = "<|begin|>", "<|end|>", "<|pad|>"
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<{{ message['role'] }}>\n{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>\n{% endif %}"
)


def build_tiny_model(folder: Path, seed: int = 0, chat_template: str | None = CHAT_TEMPLATE) -> Path:
    """Save a two-layer Llama with random weights and a byte tokenizer to ``folder`` and return it.

    The weights are wide enough for answers to differ from prompt to prompt and to end at different lengths. The
    tokenizer knows every text and puts BOS before plain text, as Llama's does.

    Args:
        seed: draws the weights; the same seed gives the same files byte for byte.
        chat_template: None makes a base model.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _tokenizer()
    tokenizer.chat_template = chat_template
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.3,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


def _tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    symbols = [BOS, END, PAD, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={symbol: index for index, symbol in enumerate(symbols)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([BOS, END, PAD])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A {BOS} $B", special_tokens=[(BOS, 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BOS, eos_token=END, pad_token=PAD)


def card_of(folder: Path) -> ModelCard:
    return fetch(ModelConfig(name="tiny", source="path", id=str(folder)), folder)


def open_tiny(card: ModelCard, **settings) -> HFEngine:
    return HFEngine(card, ModelConfig(name="tiny", source="path", id=card.folder, **{"dtype": "float32"} | settings))


def make_requests(engine: HFEngine, temperature: float = 0.0, tokens: int = 40, **settings) -> list[Request]:
    """Sixteen prompts of 3 to 300 characters, so that a batch holds much padding."""
    texts = ["abc"[index % 3] * (3 + 20 * index) for index in range(16)]
    return [
        Request(
            engine.render([Message("user", text)]),
            Decoding(tokens, temperature, stream=("seed", index), **settings),
        )
        for index, text in enumerate(texts)
    ]


def answers(engine: HFEngine, requests: list[Request]) -> dict[Request, tuple]:
    """Return what was answered to each request; time is left out."""
    return {request: content(completion) for request, completion in engine.complete(requests)}


def content(completion: Completion) -> tuple:
    return (completion.text, completion.stop, completion.prompt_tokens, completion.new_tokens)
