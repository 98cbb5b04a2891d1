// Tests samples of several documents that attend apart, and batches of samples with answers: their loss is that of the
// documents or samples alone.
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
struct Samples : TemporaryDirectory {
  Samples() { write_tiny_documents(path()); }

  SharedSamples cut(SampleOptions::Task task, bool across, DocumentsAttend attend) const {
    LanguageOptions options = tiny_masked_options(path(), *this / "run");
    options.fill = SampleOptions::Fill::sentences;
    options.data.max_length = 512;
    options.across_documents = across;
    options.documents_attend = attend;
    const auto vocabulary = load_vocabulary(options.data.vocabulary, options.tokenizer);
    return training_samples(open_corpora(options, *vocabulary).front(), options, task);
  }
};

// Every row of a masked model is predicted.
MaskedInput all_rows(const SampleSource& samples, uint32_t sample) {
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

// A batch of one line of JSON or of several.
TEST_CASE("answers: the loss of a batch is the sum of those of its samples alone, over the answers") {
  const TemporaryDirectory directory;
  write_tiny_documents(directory.path());
  write_file(directory / "answers.jsonl",
             "{\"prompt\": \"a b c\", \"completion\": \" d e\"}\n{\"prompt\": \"c a\", \"completion\": \" b\"}\n"
             "{\"prompt\": \"b b a d\", \"completion\": \" c\"}\n");
  LanguageOptions options = tiny_masked_options(directory.path(), directory / "run");
  options.format = SampleFormat::completion;
  options.data.train_sets = {directory / "answers.jsonl"};
  options.data.max_length = 64;
  const auto vocabulary = load_vocabulary(options.data.vocabulary, options.tokenizer);
  const SharedSamples samples =
      training_samples(open_corpora(options, *vocabulary).front(), options, SampleOptions::Task::answers);
  REQUIRE(samples->size() == 3);
  for (const char* position : {"rope", "learned", "alibi"}) {
    CAPTURE(position);
    EncoderOnlyConfig config = tiny_encoder_config(/*dropout=*/0);
    config.causal = true;
    config.vocab_size = vocabulary->size();
    config.position.encoding = position;
    EncoderOnly model(config);
    model.parameters().allocate(1);
    const auto loss_of = [&](const MaskedInput& input) {
      Tape tape(cpu_kernels(), {.record = false});
      return model.loss(tape, input).sums();
    };
    CrossEntropySums alone, every_row;
    for (uint32_t i = 0; i < 3; ++i) {
      const MaskedInput input = answer_inputs()(*samples, std::array{i}, 0);
      alone.nll += loss_of(input).nll;
      alone.tokens += loss_of(input).tokens;
      every_row.tokens += input.ids.size();
    }
    const CrossEntropySums together = loss_of(answer_inputs()(*samples, std::array<uint32_t, 3>{2, 0, 1}, 0));
    CHECK(together.nll == doctest::Approx(alone.nll).epsilon(1e-6));
    CHECK(together.tokens == alone.tokens);
    CHECK(together.tokens < every_row.tokens);
  }
}

}  // namespace gyre::test
