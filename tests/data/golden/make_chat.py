#!/usr/bin/env python3
"""Writes chat.json: how Hugging Face's transformers (5.24) writes conversations by chat templates in Jinja.

  snippets       templates, each with its text for the variables below, the spans of {% generation %}, or an error
  tokenizer      a small byte-level BPE with the tokens of the templates, as tokenizer.json and tokenizer_config.json
  templates      common forms: their text, with {% generation %} around the answers and without, and for random
                 conversations (random_conversations() here and in chat_template_test.cpp) the hash of the ids and masks
                 of apply_chat_template(.., return_assistant_tokens_mask=True), and that of the prompts for an answer
"""
import json
import re
import tempfile
from pathlib import Path

from golden_lines import Random, hash_lines
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, trainers
from transformers import AutoTokenizer
from transformers.utils import chat_template_utils

VARIABLES = {
    "messages": [{"role": "system", "content": " Be brief.\n"}, {"role": "user", "content": "Was ist é?"},
                 {"role": "assistant", "content": "<think>hm</think>\n\nA letter & \"more\"", "score": 0.5}],
    "tools": [{"name": "f", "parameters": {"type": "object", "list": [1, 2.5, True, None, []], "é": {}}}],
    "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True, "nothing": None, "n": 7}

SNIPPETS = [
    "plain", "a\n{% if true %}\nb\n{% endif %}\nc\n", "  {% if true %} x {% endif %}  \n  {{ n }}  \n", "{# no #}\n a",
    "a {%- if true -%} b {%- endif -%} c", "{%+ if true +%}\n b {%+ endif %}", "a {{- n -}} b", "{{ '{{ %} }}' }}",
    "x\r\n{% set a = 1 %}\r\ny{{ a }}\n\n", "  {#- c -#}  d", "  {# c #}  d", "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{% for m in messages %}{{ m.role }}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}"
    "{{ loop.revindex }}{{ loop.revindex0 }},{% endfor %}",
    "{% for m in messages[1:] %}{{ m['content'] }}{% else %}none{% endfor %}",
    "{% for m in messages[::-1] %}{{ m.role[0] }}{% endfor %}{% for x in [] %}a{% else %}none{% endfor %}",
    "{% for m in messages if m.role != 'user' %}{{ loop.index }}{{ m.role }}{% endfor %}",
    "{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}{% for k in messages[0] %}{{ k }}{% endfor %}",
    "{% for m in messages %}{% if loop.previtem is defined %}{{ loop.previtem.role }}{% endif %}|"
    "{{ loop.nextitem.role if loop.nextitem is defined else '-' }}{% endfor %}",
    "{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i > 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in range(5, 2, -1) %}{{ i }}{% endfor %}{{ range(3) | list | length }}",
    "{% set x = 1 %}{% for i in range(3) %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(x=1, y='a') %}{% for i in range(3) %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}{{ ns.y }}",
    "{% set a, b = 1, 'z' %}{{ a }}{{ b }}{% set t %}in {{ n }}{% endset %}[{{ t }}]",
    "{% if n > 7 %}a{% elif n == 7 and not nothing %}b{% else %}c{% endif %}{% if undefined_name %}d{% endif %}",
    "{{ 1 + 2 * 3 - 4 // 3 % 2 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 - 3 - 4 }} {{ (2 - 3) * 4 }} {{ 1.5 + 1 }}",
    "{{ 'a' ~ 1 ~ none ~ true }} {{ 'a' + 'b' }} {{ \"q\\n\\t\\\\'\\u00e9\" }} {{ 'a' 'b' }} {{ ([1] + [2, 3]) | length }}",
    "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' < 'b' }} {{ 1 == 1.0 }} {{ none == false }} {{ 'x' in 'axb' }} {{ 3 not in [1, 2] }}",
    "{{ 'role' in messages[0] }} {{ not 'x' in messages[0] }} {{ messages[0].x is defined }} {{ messages[9] is defined }}",
    "{{ 'a' if n == 7 else 'b' }}{{ 'a' if n == 8 }}|{{ '' or 'x' }}{{ 0 and 'y' }}{{ true and not false or false }}",
    "{{ messages[-1]['content'].split('</think>')[-1].lstrip('\\n') }}|{{ ' a b  c '.split() | join('-') }}|"
    "{{ 'a,b,c'.split(',', 1) | join('|') }}",
    "{{ messages[0].content.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'xyax'.lstrip('xy') }}|{{ 'a\\n'.rstrip() }}|{{ ' a ' | trim }}|",
    "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('c', 'x')) if false else 'abc'.endswith('c') }} {{ 'aXa'.replace('a', 'bb') }}",
    "{{ 'aé'.upper() if false else 'ae' | upper }} {{ 'AB' | lower }} {{ 'hello' | capitalize }} {{ 'été' | length }} {{ 'été'[1:] }}",
    "{{ messages[0].get('x', 'd') }} {{ messages[0].get('role') }} {{ nothing is none }} {{ n is number }} {{ 'a' is string }}",
    "{{ messages is iterable and messages is not mapping }} {{ messages[0] is mapping }} {{ n is odd }} {{ n is in [7] }} {{ n is eq 7 }}",
    "{{ tools | tojson }}\n{{ tools[0] | tojson(indent=2) }}\n{{ 'é\"\\n' | tojson }} {{ none | tojson }} {{ {} | tojson }}",
    "{{ tools | tojson(separators=(',', ':')) }} {{ {'b': 1, 'a': {'d': 2, 'c': 'é'}} | tojson(sort_keys=true) }}"
    " {{ 'é\U0001f600' | tojson(ensure_ascii=true) }} {{ tools | tojson(true, 1, (' , ', '=')) }}",
    "{{ 'ÉCOLE straße' | lower }} {{ 'straße' | upper }} {{ 'éCOLE' | capitalize }} {{ 'ǆ'.capitalize() }} {{ 'ΑΣ'.lower() }}",
    "{{ 'aaa' | replace('a', 'b', 2) }} {{ 'aaa'.replace('a', 'b', 1) }} {{ 'aaa' | replace('a', 'b', count=0) }}"
    " {{ unknown | default(default_value='d') }} {{ '' | default('e', boolean=true) }}",
    "{{ messages | map(attribute='role') | join(', ') }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }}"
    " {{ (messages | rejectattr('role', 'equalto', 'user') | list)[0].role }} {{ messages | length }} {{ (messages | last).role }}",
    "{{ unknown | default('d') }}{{ '' | default('e', true) }}{{ nothing | default('f') }} {{ 'abc' | first }} {{ n | string + '!' }}",
    "{{ 'cba' | reverse }} {{ [1, 2, 3] | reverse | list | tojson }} {{ dict(a=1, b='c') | tojson }} {{ messages[0] | items | list | length }}",
    "{{ 'abc'[::-1] }} {{ 'abcdef'[1:5:2] }} {{ 'abc'[-2:] }} {{ 'abc'[:9] }} {{ [1, 2, 3][:-1] | tojson }} {{ 'abc'[5:] }}|",
    "{% for c in 'aé' %}{{ c }}.{% endfor %}{{ [1, 2, 3,] | tojson }}{{ (1, 2) | length }}{{ {'a': 1,}.a }}",
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}\n{{ m.content }}{{ eos_token }}\n"
    "{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}{% generation %}é{% endgeneration %}",
    "{{ raise_exception('roles must alternate') }}", "{{ missing.field }}", "{{ 'a' + 1 }}", "{{ messages[0] + 'x' }}",
    "{% if true %}", "{{ 1 + }}", "{% endif %}", "{{ 'a }}", "{{ (1 }}", "{# a", "{% for in x %}{% endfor %}", "{{ 1 | nofilter }}",
    "{% if n == 7 %}{{ messages[0]['content'] | trim }}{% else %}{{ 1 // 0 }}{% endif %}", "{{ n.upper() }}", "{{ nofunction() }}",
]

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
            "<|eot_id|>", "<s>", "</s>", "[INST]", "[/INST]"]

# {A} and {/A} become {% generation %} and its end, or nothing.
TEMPLATES = {
    "chatml": "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
              "{{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n'}}"
              "{% if message.role == 'assistant' %}{A}{{ message['content'] + '<|im_end|>' }}{/A}{% else %}"
              "{{ message['content'] + '<|im_end|>' }}{% endif %}{{ '\\n' }}{% endfor %}"
              "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    "llama-3": "{% set loop_messages = messages %}{% for message in loop_messages %}{% set header = '<|start_header_id|>' + "
               "message['role'] + '<|end_header_id|>\\n\\n' %}{% if loop.index0 == 0 %}{% set header = bos_token + header %}"
               "{% endif %}{{ header }}{% if message['role'] == 'assistant' %}{A}{{ message['content'] | trim + '<|eot_id|>' }}"
               "{/A}{% else %}{{ message['content'] | trim + '<|eot_id|>' }}{% endif %}{% endfor %}"
               "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    "mistral": "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
               "{% set system = messages[0]['content'] + '\\n\\n' %}{% else %}{% set loop_messages = messages %}"
               "{% set system = '' %}{% endif %}{{ bos_token }}{% for message in loop_messages %}"
               "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
               "{{ raise_exception('roles must alternate') }}{% endif %}{% if message['role'] == 'user' %}"
               "{{ '[INST] ' + (system if loop.first else '') + message['content'] + ' [/INST]' }}"
               "{% elif message['role'] == 'assistant' %}{A}{{ ' ' + message['content'] + eos_token }}{/A}{% endif %}{% endfor %}",
    "zephyr": "{% for message in messages %}{{ '<|' + message.role + '|>\\n' }}{% if message.role == 'assistant' %}{A}"
              "{{ message.content + eos_token }}{/A}{% else %}{{ message.content + eos_token }}{% endif %}{{ '\\n' }}\n"
              "{%- endfor -%}\n{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
}

FRAGMENTS = ["the cat", " sat", " on", " the mat.", "\n", "\n\n", " ", "  ", "é", "größer", "😀", "東京", "<|im_end|>", "</s>",
             "don't", "1234", "  indented", "x = {\"a\": 1}", "</think>", "\t"]


def random_conversations():
    """As in chat_template_test.cpp."""
    random = Random(1)
    for _ in range(300):
        def text():
            return "".join(FRAGMENTS[random.below(len(FRAGMENTS))] for _ in range(1 + random.below(6)))
        messages = [{"role": "system", "content": text()}] if random.below(3) == 0 else []
        for _ in range(1 + random.below(3)):
            messages += [{"role": "user", "content": text()}, {"role": "assistant", "content": text()}]
        yield messages


def render(template):
    try:
        compiled = chat_template_utils._compile_jinja_template(template)
        text, spans = chat_template_utils._render_with_assistant_indices(
            compiled, VARIABLES["messages"], VARIABLES["tools"], None, True,
            **{k: v for k, v in VARIABLES.items() if k not in ("messages", "tools", "add_generation_prompt")})
    except Exception as error:
        return {"template": template, "error": type(error).__name__}
    return {"template": template, "text": text, "spans": [[len(text[:i].encode()) for i in span] for span in spans]}


def make_tokenizer(directory):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    lines = [m["content"] for c in random_conversations() for m in c] + ["user\nassistant\nsystem\nYou help."] * 50
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=SPECIALS))
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>",
              "clean_up_tokenization_spaces": False}
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    return AutoTokenizer.from_pretrained(directory)


def marked(template, marks):
    return re.sub(r"\{A\}", "{% generation %}" if marks else "", re.sub(
        r"\{/A\}", "{% endgeneration %}" if marks else "", template))


def case(name, tokenizer):
    tokenizer.chat_template = marked(TEMPLATES[name], True)
    lines, prompts = [], []
    for messages in random_conversations():
        out = tokenizer.apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=True)
        lines.append(" ".join(map(str, out["input_ids"])) + "|" + " ".join(map(str, out["assistant_masks"])))
        prompt = tokenizer.apply_chat_template(messages[:-1], add_generation_prompt=True, return_dict=True)["input_ids"]
        prompts.append(" ".join(map(str, prompt)))
    return {"name": name, "marked": marked(TEMPLATES[name], True), "plain": marked(TEMPLATES[name], False),
            "first": lines[0], "ids": hash_lines(lines), "prompts": hash_lines(prompts)}


with tempfile.TemporaryDirectory() as directory:
    TOKENIZER = make_tokenizer(Path(directory))
    golden = {"variables": VARIABLES, "snippets": [render(s) for s in SNIPPETS], "fragments": FRAGMENTS,
              "tokenizer": json.loads((Path(directory) / "tokenizer.json").read_text()),
              "config": json.loads((Path(directory) / "tokenizer_config.json").read_text()),
              "templates": [case(name, TOKENIZER) for name in TEMPLATES]}
Path(__file__).with_name("chat.json").write_text(json.dumps(golden, ensure_ascii=False) + "\n", encoding="utf-8")
