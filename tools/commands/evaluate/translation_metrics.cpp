#include "tools/commands/evaluate/translation_metrics.h"

#include <utility>

namespace gyre {

namespace {

SystemScore bleu_result(const std::string& protocol, const std::string& name, const std::string& signature,
                        SentenceStatistics statistics, const BleuOptions& options) {
  const BleuScore score = bleu_score(statistics.sum(), options);
  return {name,
          signature,
          score.score,
          format_details(score),
          {{"bleu", score.score},
           {"protocol", protocol},
           {"signature", signature},
           {"precisions", score.precisions},
           {"brevity_penalty", score.brevity_penalty},
           {"hypothesis_length", score.hypothesis_length},
           {"reference_length", score.reference_length}},
          std::move(statistics),
          [options](std::span<const int64_t> sums) { return bleu_score(sums, options).score; }};
}

}  // namespace

TranslationMetric sacrebleu_metric(const BleuOptions& options) {
  return [options](const Lines& hypotheses, const std::vector<Lines>& references) {
    const auto tokenize = [&](const std::string& line) {
      return bleu_tokens(line, options.tokenizer, options.lowercase);
    };
    return bleu_result("sacrebleu", "sacreBLEU", bleu_signature(references.size(), options),
                       bleu_statistics(hypotheses, references, tokenize), options);
  };
}

TranslationMetric moses_bleu_metric(const MosesBleuOptions& options) {
  return [options](const Lines& hypotheses, const std::vector<Lines>& references) {
    const std::string protocol = options.split_compounds ? "compound-split" : "multi-bleu";
    return bleu_result(protocol, protocol + " BLEU", moses_bleu_signature(references.size(), options),
                       moses_bleu_statistics(hypotheses, references, options), moses_bleu_scoring());
  };
}

TranslationMetric chrf_metric(const ChrfOptions& options) {
  return [options](const Lines& hypotheses, const std::vector<Lines>& references) -> SystemScore {
    auto statistics = chrf_statistics(hypotheses, references, options);
    const double score = chrf_score(statistics.sum(), options);
    const std::string name = chrf_name(options), signature = chrf_signature(references.size(), options);
    return {name,
            signature,
            score,
            {},
            {{"chrf", score}, {"name", name}, {"signature", signature}},
            std::move(statistics),
            [options](std::span<const int64_t> sums) { return chrf_score(sums, options); }};
  };
}

TranslationMetric ter_metric(const TerOptions& options) {
  return [options](const Lines& hypotheses, const std::vector<Lines>& references) -> SystemScore {
    auto statistics = ter_statistics(hypotheses, references, options);
    const size_t count = references.size();
    const TerScore score = ter_score(statistics.sum(), count);
    const std::string signature = ter_signature(count, options);
    return {"TER",
            signature,
            score.score,
            {},
            {{"ter", score.score},
             {"signature", signature},
             {"edits", score.edits},
             {"reference_length", score.reference_length}},
            std::move(statistics),
            [count](std::span<const int64_t> sums) { return ter_score(sums, count).score; }};
  };
}

}  // namespace gyre
