#!/usr/bin/env bash
# Tests gyre evaluate answers, evaluate passkey and plot answers, with given predictions and a small language model.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
answers() { build/gyre evaluate answers "$@" 2> report.txt; }
passkey() { build/gyre evaluate passkey "$@" 2> report.txt; }

# Predictions as LongBench's pred.py writes them, with the scores that its eval.py computes.
mkdir pred
cat > pred/trec.jsonl << 'END'
{"pred": "\n\nDate of birth\nNumber", "answers": ["Date"], "all_classes": ["Date", "Number"], "length": 3999}
{"pred": "Date, Number", "answers": ["Date"], "all_classes": ["Date", "Number"], "length": 4000}
{"pred": "none", "answers": ["Date"], "all_classes": ["Date", "Number"], "length": 8000}
END
cat > pred/qasper.jsonl << 'END'
{"pred": "The BLEU-score, a metric", "answers": ["accuracy", "bleuscore"], "all_classes": null, "length": 8001}
END
answers --predictions pred/ > scores.txt
same "the table" "$(tr -s ' ' < scores.txt)" "data set metric records score 0-4k 4-8k 8k+
qasper f1 1 66.67 - - 66.67
trec classification 3 50.00 100.00 50.00 0.00
single-document QA 66.67
few-shot learning 50.00
average 58.33"
answers --predictions pred/*.jsonl --json > scores.json
contains '^\{"average":58\.3+,"categories":\{.*\},"datasets":\[\{"dataset":"qasper","metric":"f1","records":1,"score":66\.6+,"lengths":\{"8k\+":\{"records":1,"score":66\.6+\}\}\},' < scores.json ||
  fail "JSON: $(cat scores.json)"
same "another metric" "$(answers --predictions pred/qasper.jsonl --metric exact-match | awk '$1 == "qasper" { print $4 }')" 0.00
same "the first records of each data set" "$(answers --predictions pred/ --limit 1 | awk '$1 == "trec" { print $3, $4 }')" "1 100.00"

# Predictions of other programs are joined with the records.
printf '{"context": "a", "input": "b", "answers": ["%s"], "dataset": "mine"}\n' "one two" three > mine.jsonl
printf '{"text": "%s"}\n' "two" "four" > mine.pred
same "predictions without answers" "$(answers --input mine.jsonl --predictions mine.pred --metric f1 | tail -n 1 | awk '{ print $1, $4 }')" "mine 33.33"
rejects 1 'expected a line for each of the 2 records of --input, got 1' build/gyre evaluate answers --input mine.jsonl --predictions <(head -n 1 mine.pred) --metric f1
rejects 1 'expected the answers of mine.jsonl:1, found others' build/gyre evaluate answers --input mine.jsonl --predictions <(printf '{"pred": "", "answers": [""]}\n{"pred": ""}\n') --metric f1
rejects 2 'metric: expected one, because LongBench has no data set "mine" .mine.jsonl:1.' build/gyre evaluate answers --input mine.jsonl --predictions mine.pred
rejects 1 'mine.jsonl:1: expected a "pred" or a "text", found none' build/gyre evaluate answers --predictions mine.jsonl --metric f1
printf '{"pred": "%s", "answers": ["%s"], "all_classes": null}\n' 中国的首都 中国 > multifieldqa_zh.jsonl
same "Chinese by characters" "$(answers --predictions multifieldqa_zh.jsonl | awk 'NR == 2 { print $2, $4 }')" "f1-characters 57.14"
check "a note on jieba" contains '^multifieldqa_zh: f1-characters compares characters, LongBench the words of jieba' < report.txt

# A model answers, and its answers are those of gyre generate.
from_corpus train.en bytes.model
as_documents train.en > books.txt
build/gyre train lm --preset llama-tiny --dim-emb 48 --transformer-heads 6 --layers 1 --transformer-dim-ffn 48 --max-length 256 \
  --mini-batch 8 --quiet --train-sets books.txt --vocab bytes.model --model lm/ --after 60u --learn-rate 0.003
record() { printf '{"context": "%s", "input": "a man", "answers": ["man in the is on with"], "length": 2, "dataset": "%s"}\n' "$@"; }
{ record short qasper && record "$(printf 'x%.0s' $(seq 400))" qasper && record short samsum; } > records.jsonl
answers --model lm/ --input records.jsonl --max-tokens 20 --output pred.jsonl --json > own.json
check "a long prompt is cut" contains '^2 of 3 prompts were too long and lost their middle$' < report.txt
same "the predictions score the same" "$(answers --predictions pred.jsonl --json)" "$(sed 's/,"model":"lm."//' own.json)"
echo '{context}|{input}' > prompt.txt
answers --model lm/ --input records.jsonl --max-tokens 20 --prompt prompt.txt --limit 1 --output pred.jsonl > own.txt
build/gyre generate --model lm/ --prompt 'short|a man' --max-tokens 20 --temperature 0 --json 2> report.txt > generated.json
same "a greedy continuation of the template" "$(head -n 1 pred.jsonl | grep -oE '"pred":"([^"\\]|\\.)*"' | cut -d: -f2-)" \
  "$(grep -oE '"text":"([^"\\]|\\.)*"' generated.json | cut -d: -f2-)"
rejects 1 'records.jsonl:1: expected a text "question" for the prompt, found none' \
  build/gyre evaluate answers --model lm/ --input records.jsonl --prompt <(echo '{question}')
rejects 1 'expected room for an answer of 512 tokens behind a prompt, got a model for 256 tokens' \
  build/gyre evaluate answers --model lm/ --input <(record short gov_report)

# Pass keys.
passkey --model lm/ --lengths 350,1k --depths 0,100 --samples 2 --picture keys.svg --output keys.jsonl > keys.txt
same "the rows of pass keys" "$(grep -cE '^ +(0|100) % +[0-9.]+ +[0-9.]+$' keys.txt)" 2
picture "the heat map" keys.svg
same "the prompts" "$(wc -l < keys.jsonl)" 8
check "a prompt contains its number" awk '{ match($0, /"answers":\["[0-9]+/); key = substr($0, RSTART + 12, 5); if (gsub("The pass key is " key, "") != 1) exit 1 }' keys.jsonl
passkey --model lm/ --lengths 350,1k --depths 0,100 --samples 2 --json --mini-batch 1 --quiet > keys.json
contains '^\{"model":"lm/","samples":2,"average":[0-9.]+,"rows":\[\{"length":350,"depth":0.0,"score":[0-9.]+,"tokens":3[34][0-9.]+\},' < keys.json || fail "JSON: $(cat keys.json)"
same "quiet" "$(grep -vc '^model: ' report.txt)" 0
passkey --model lm/ --lengths 400 --depths 50 --samples 1 --text books.txt --output text.jsonl > text.txt
check "another text" contains "\"input\":\"[^\"]*there.\\\\n$(head -n 1 books.txt | cut -d ' ' -f 1-3)" < text.jsonl
rejects 1 'expected a length with room for the task alone, [0-9]+ tokens, got room for' build/gyre evaluate passkey --model lm/ --lengths 64

# Pictures.
answers --predictions pred/trec.jsonl --json > other.json
build/gyre plot answers --results scores.json other.json --output bars.svg
picture "scores" bars.svg
build/gyre plot answers --results scores.json --baseline other.json --title "a difference" --output difference.svg
picture "differences" difference.svg
check "only data sets of both" bash -c "grep -q trec difference.svg && ! grep -q qasper difference.svg"
rejects 1 'expected a data set that other.json has too, found none' build/gyre plot answers --results own.json --baseline other.json --output none.svg
rejects 1 'generated.json: expected the output of gyre evaluate answers --json' build/gyre plot answers --results generated.json --output none.svg
