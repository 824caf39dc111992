"""Write a tiny Qwen3 with random weights and a tokenizer of its own. Runs in vLLM's environment.

python make_model.py FOLDER TEXT…    (the files that its vocabulary is learnt from)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config

CONTEXT = 32_768
VOCABULARY = 2_048
CONTROL = {chr(256 + byte) for byte in range(32)} - {chr(256 + ord("\n"))}  # as byte-level BPE writes them
CHAT_TEMPLATE = (  # as strict about the ids of calls as Mistral's
    "{% for message in messages %}"
    "{% if message.role == 'tool' and message.tool_call_id | length != 9 %}"
    "{{ raise_exception('a tool message needs a call id of nine characters') }}{% endif %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% if loop.first %}{% for tool in tools or [] %}\n{{ tool | tojson }}{% endfor %}{% endif %}"
    "{% for call in message.tool_calls or [] %}\n<tool_call>\n"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}'
    "\n</tool_call>{% endfor %}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def main(folder: Path, texts: list[str]) -> None:
    tokenizer = Tokenizer(models.BPE())
    # Digits one by one, as Qwen's: of many-digit tokens, random weights would write numbers without end.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    # xgrammar lets control characters into strings of a given length, where JSON has none: without them in
    # the vocabulary, a model of random weights can't choose them as no trained one does.
    alphabet = [character for character in pre_tokenizers.ByteLevel.alphabet() if character not in CONTROL]
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    words = (re.sub(r"[^\n -\U0010ffff]", " ", Path(text).read_text(encoding="utf-8")) for text in texts)
    tokenizer.train_from_iterator(words, trainer)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT,
    ).save_pretrained(folder)
    Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        eos_token_id=tokenizer.token_to_id("<|im_end|>"),
        bos_token_id=tokenizer.token_to_id("<|im_start|>"),
        pad_token_id=tokenizer.token_to_id("<|endoftext|>"),
        architectures=["Qwen3ForCausalLM"],
        tie_word_embeddings=True,
    ).save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
