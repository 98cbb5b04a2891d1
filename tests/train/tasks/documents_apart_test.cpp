// Tests samples of several documents that attend apart: their loss is that of the documents alone.
#include <doctest/doctest.h>

#include <array>

#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/language/language_data.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

struct Losses {
  size_t samples = 0;
  double sum = 0;
};

// The samples of tiny documents, all of which fit into one sample.
class Samples {
 public:
  Samples() { write_tiny_documents(directory_.path()); }

  SharedSamples cut(SampleOptions::Task task, bool across, DocumentsAttend attend) const {
    LanguageOptions options = tiny_masked_options(directory_.path(), directory_ / "run");
    options.fill = SampleOptions::Fill::sentences;
    options.data.max_length = 512;
    options.across_documents = across;
    options.documents_attend = attend;
    const auto vocabulary = load_vocabulary(options.data.vocabulary, options.tokenizer);
    return training_samples(open_corpora(options, *vocabulary).front(), options, task);
  }

 private:
  TemporaryDirectory directory_;
};

// Every row of a masked model is predicted.
MaskedInput all_rows(const DocumentSamples& samples, uint32_t sample) {
  std::vector<int32_t> ids, offsets{0};
  samples.append(sample, ids, offsets);
  return {to_tensor(ids), Segments(std::move(offsets)), {}, to_tensor(ids)};
}

Losses losses_of(const EncoderOnly& model, const SharedSamples& samples) {
  Losses losses{.samples = samples->size()};
  for (uint32_t i = 0; i < samples->size(); ++i) {
    Tape tape(cpu_kernels(), {.record = false});
    const MaskedInput input =
        model.config().causal ? next_token_inputs()(*samples, std::array{i}, 0) : all_rows(*samples, i);
    losses.sum += model.loss(tape, input).sums().loss;
  }
  return losses;
}

}  // namespace

TEST_CASE("documents apart: the losses of samples add up to those of the documents alone") {
  const Samples samples;
  for (const SampleOptions::Task task : {SampleOptions::Task::next, SampleOptions::Task::masked}) {
    for (const char* position : {"rope", "learned", "alibi"}) {
      CAPTURE(position);
      EncoderOnlyConfig config = tiny_encoder_config(/*dropout=*/0);
      config.causal = task == SampleOptions::Task::next;
      config.vocab_size = 23;
      config.position.encoding = position;
      EncoderOnly model(config);
      model.parameters().allocate(1);
      const Losses alone = losses_of(model, samples.cut(task, false, DocumentsAttend::across));
      const Losses apart = losses_of(model, samples.cut(task, true, DocumentsAttend::apart));
      const Losses across = losses_of(model, samples.cut(task, true, DocumentsAttend::across));
      CHECK(alone.samples == 10);
      CHECK(apart.samples == 1);
      CHECK(apart.sum == doctest::Approx(alone.sum).epsilon(1e-6));
      CHECK(across.sum != doctest::Approx(alone.sum).epsilon(1e-5));
    }
  }
}

}  // namespace gyre::test
