// The training options of language models on documents.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gyre/data/batch/document_batch.h"
#include "gyre/data/batch/masking.h"
#include "gyre/data/chat/answer_store.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/models/modules/lora.h"
#include "gyre/train/options.h"

namespace gyre {

// The options of a stage. Those without a value are those of the run.
struct LanguageStage {
  uint64_t updates = 0;
  std::optional<int> max_length{};       // tokens of a sample
  std::optional<uint64_t> batch_size{};  // size of a global batch, in the unit
  std::optional<BatchUnit> batch_unit{};
  std::vector<Path> train_sets{};  // empty: those of the run
  // Without a value, those of the run, or none if the stage has train_sets of its own.
  std::optional<std::vector<double>> train_weights{};
  std::optional<double> learning_rate{};
  // With one of these, the stage has a schedule of its own, from its first update to its last. Otherwise the schedule
  // of the run goes on, with the stage's learning rate as its peak.
  std::optional<std::string> schedule{};
  std::optional<uint64_t> warmup{};
  double warmup_percent = 0;  // above 0: replaces `warmup` by this percentage of the stage's updates
  // Only for a schedule of its own. Without a value they are the defaults, not those of the run.
  std::optional<uint64_t> cooldown{};  // updates
  std::optional<double> cooldown_percent{};
  std::optional<CooldownForm> cooldown_form{};
  std::optional<double> power{};

  bool restarts_schedule() const { return schedule || warmup || warmup_percent > 0; }
  void declare(OptionList& list);
};

// Attention between the documents of a sample.
enum class DocumentsAttend : uint8_t { across, apart };
template <>
inline constexpr std::pair<DocumentsAttend, std::string_view> kEnumNames<DocumentsAttend>[] = {
    {DocumentsAttend::across, "across"}, {DocumentsAttend::apart, "apart"}};

// data.train_sets: text files, token stores of documents, folders or patterns (data/text/text_input.h): one corpus or,
// with train_weights, one for each. data.valid_sets: the same, each validated apart. data.max_length: maximum number of
// rows of a sample. batch.unit: total tokens or sentences (samples).
struct LanguageOptions : TrainOptions {
  LanguageOptions() {
    data.max_length = 512;
    optimizer.schedule.warmup = 500;
  }
  TokenizerChoice tokenizer;  // way to read the vocabulary
  // Shares of the samples from each of the train_sets, of any sum (data/batch/document_batch.h). Empty: every sample
  // once.
  std::vector<double> train_weights;
  Path pretrained_model;                 // initial weights of a new run (train/tasks/initial_weights.h), or empty
  LoraOptions lora;                      // adapters of the pretrained model, which are trained instead of it
  std::string documents = "blank-line";  // end of a document in text (parse_document_end())
  // Line ends inside documents. Empty: those that the run began with, or those of its token stores, or the default of
  // the vocabulary (line_ends_of_run()).
  std::optional<LineEnds> line_ends;
  std::string text_field = "text";  // field of JSON lines
  SampleFormat format = SampleFormat::text;
  std::string chat_template;       // name of a built-in chat template, or a file; empty: that of the model
  std::string chat_template_text;  // content of the chat template, from text_of_chat_template(); no option
  SampleOptions::Fill fill = SampleOptions::Fill::full;
  bool across_documents = false;  // samples continue into the next document
  DocumentsAttend documents_attend = DocumentsAttend::across;
  double validation_share = 0;      // held-out fraction of train_sets' documents, or of a single document
  double z_loss = 0;                // CrossEntropyOptions::z_loss, in training
  uint64_t validation_samples = 0;  // number of evenly spaced samples for validation; 0: all
  // Set by set_stages(); empty: the run has the options above from its beginning to its end. Validation has samples of
  // data.max_length in every stage.
  std::vector<LanguageStage> stages;

  // Sets the stages, the end of the run and the learning rates. Call it when all other options are set. Throws a
  // UsageError that names the stage if one is invalid or if stop.after is another end.
  void set_stages(std::vector<LanguageStage> all);
  bool has_validation_data() const override { return validation_share > 0 || !data.valid_sets.empty(); }
  SampleOptions samples(SampleOptions::Task task) const;
  bool has_answers() const { return format != SampleFormat::text; }  // whether only answers are predicted
  static std::vector<BatchUnit> batch_units() { return {BatchUnit::total_tokens, BatchUnit::sentences}; }
  void declare(OptionList& list) override;
  std::unique_ptr<TrainOptions> with_defaults() const override;  // those of causal models
  void validate() const;                                         // throws a UsageError if an option is invalid

 protected:
  void declare_data(OptionList& list);
  void declare_format(OptionList& list);
  void declare_run(OptionList& list, std::vector<std::string> valid_metrics);
};

// The defaults of causal language models: AdamW as for GPT-3 and LLaMA.
OptimizerOptions causal_optimizer();

// The training options of masked language models.
struct MaskedOptions : LanguageOptions {
  double mask_share = 0.15;  // fraction of the tokens to predict
  MaskingOptions::Draw mask_draw = MaskingOptions::Draw::exact;
  bool whole_words = false;
  MaskingOptions masking() const;
  void declare(OptionList& list) override;
  std::unique_ptr<TrainOptions> with_defaults() const override;
  void validate() const;
};

}  // namespace gyre
