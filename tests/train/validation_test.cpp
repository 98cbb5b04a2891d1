#include <doctest/doctest.h>

#include "gyre/train/task.h"
#include "tests/errors.h"

namespace gyre {

TEST_CASE("losses improve downwards, scores upwards") {
  for (const char* loss : {"cross-entropy", "cross-entropy/news", "perplexity", "bits-per-byte", "bits-per-byte/news",
                           "mean-squared-error", "margin-loss"})
    CHECK_FALSE(higher_is_better(loss));
  for (const char* score : {"accuracy", "f1", "macro-f1", "matthews", "pearson", "spearman", "bleu", "chrf"})
    CHECK(higher_is_better(score));
}

TEST_CASE("a metric without a row is an error") {
  CHECK(error_of([] { higher_is_better("new-loss/news"); }) ==
        R"([validation] higher_is_better() in train/task.h lacks the metric "new-loss")");
}

}  // namespace gyre
