# The mutations of test.sh for the code that runs on CPUs: mutation NAME UNIT FILE OLD NEW OPTIONS. OLD must occur once in
# FILE; UNIT is the .cpp file that is compiled with the change. OPTIONS choose the tests, of which one must fail:
# LIBRARY TEST_CASE those of a library, `ranks TEST_CASE` those of tests/mpi on two ranks.

mutation "layer norm backward: a mean has the other sign" \
  core/cpu/layer_norm.cpp core/cpu/layer_norm.cpp \
  'gamma[j] * dy[j] - mean_g' 'gamma[j] * dy[j] + mean_g' \
  autograd 'every op agrees with its composed definition'
mutation "attention: a causal query sees the key after its own" \
  core/cpu/attention/attention.cpp core/cpu/attention/attention_head.h \
  'shape.causal ? 0 :' 'shape.causal ? 1 :' \
  autograd 'every op agrees with its composed definition'
mutation "sums over rows: each row of a block replaces the one before" \
  core/cpu/elementary.cpp core/cpu/elementary.cpp \
  'sums[j] += numbers[j]' 'sums[j] = numbers[j]' \
  autograd 'every op agrees with finite differences'
mutation "quotient: the gradient of the divisor lacks a division" \
  core/cpu/elementary.cpp core/kernels/element_formulas.inc \
  '-dy * (a / b / b)' '-dy * (a / b)' \
  autograd 'every op agrees with finite differences'
mutation "key-value cache: a hypothesis keeps its own past instead of that of its parent" \
  models/modules/cache.cpp models/modules/cache.cpp \
  'parents_[size_t(row)] * before' 'row * before' \
  models '*cache*'
mutation "beam search: scores do not count the end of the sentence" \
  models/decode/beam_search.cpp models/decode/beam_search.cpp \
  'int64_t(hypothesis.ids.size()) + 1);
  Hypothesis' \
  'int64_t(hypothesis.ids.size()));
  Hypothesis' \
  models 'beam: *'
mutation "given tokens: a continuation reads the states of others" \
  models/decode/given_tokens.cpp models/decode/given_tokens.cpp \
  'begin += int32_t(row.tail());' 'begin += int32_t(row.head());' \
  models 'given tokens: *'
mutation "batches: the last batch of an epoch is dropped" \
  data/batch/batch_plan.cpp data/batch/batch_plan.cpp \
  '      first_.push_back(uint32_t(first));
      count_.push_back(uint32_t(end - first));
      first = end;' \
  '      first = end;' \
  data 'plan: *'
mutation "masking: nine tenths of the chosen tokens are masked" \
  data/batch/masking.cpp data/batch/masking.cpp \
  'tenth < kMaskedTenths' 'tenth <= kMaskedTenths' \
  data 'masking: *'
mutation "Adam: the bias of the second moment is corrected with the decay of the first" \
  train/optim/update_rule.cpp train/optim/update_rule.cpp \
  '.bias2 = 1 - std::pow(beta2_, t)' '.bias2 = 1 - std::pow(beta1_, t)' \
  train 'update rules: *'
mutation "checkpoints: the last state of an update rule is neither saved nor restored" \
  train/optim/optimizer.cpp train/optim/optimizer.cpp \
  'i < slots.size(); ++i' 'i + 1 < slots.size(); ++i' \
  train 'checkpoint: a resumed run*'
mutation "validation: of equal values, the latest is the best" \
  train/trainer.cpp train/trainer.cpp \
  'value > *earlier : value < *earlier' 'value >= *earlier : value <= *earlier' \
  train 'of validations with equal values*'
mutation "gradients: the first bucket is not all-reduced" \
  train/parallel/reducer.cpp train/parallel/reducer.cpp \
  '  sum_->start(' '  if (index > 0) sum_->start(' \
  ranks 'buckets sum all micro-batches*'
mutation "adapters: merging leaves out the scale" \
  models/modules/lora.cpp models/modules/lora.cpp \
  'double(out[i]) + adapter.scale * sums[i]' 'double(out[i]) + sums[i]' \
  models 'lora: *'
mutation "adapters: a part of a weight gets the columns of the whole adapter" \
  models/modules/layers.cpp models/modules/layers.cpp \
  '{}, at - adapter->first, end - at' '{}, 0, end - at' \
  models 'lora: *'
mutation "adapters: another base is taken for the one of the run" \
  train/checkpoint/lora_record.cpp train/checkpoint/lora_record.cpp \
  'digest == record.digest' 'digest.size() <= record.digest.size()' \
  train '*adapters: *'
