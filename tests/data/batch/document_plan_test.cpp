#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "gyre/core/random.h"
#include "gyre/data/batch/batch_plan.h"
#include "gyre/data/batch/document_batch.h"
#include "tests/data/text_files.h"

using namespace gyre;
using Ids = std::vector<int32_t>;
using Fill = SampleOptions::Fill;
using Task = SampleOptions::Task;
using IdDocuments = std::vector<std::vector<Ids>>;  // documents of sentences of ids

namespace {

constexpr int32_t kBos = 1, kEos = 2, kFirst = 10;

const IdVocabulary kNumbers(1000000);

TokenStore store_of(const IdDocuments& documents) {
  auto writer = TokenStoreWriter::in_memory(kNumbers, 1, "documents");
  for (const auto& document : documents) {
    for (const Ids& sentence : document) writer.add(sentence);
    writer.add({});
  }
  return writer.finish();
}

// Documents whose sentences have these lengths. The ids are 10, 11, ..., so that each token has a unique id.
IdDocuments documents_of(const std::vector<std::vector<size_t>>& lengths) {
  IdDocuments documents;
  int32_t next = kFirst;
  for (const auto& document : lengths) {
    documents.emplace_back();
    for (const size_t length : document) {
      Ids& sentence = documents.back().emplace_back(length);
      std::iota(sentence.begin(), sentence.end(), next);
      next += int32_t(length);
    }
  }
  return documents;
}

IdDocuments random_documents(size_t count) {
  RandomStream random(3, 0);
  std::vector<std::vector<size_t>> lengths(count);
  for (auto& document : lengths) {
    document.resize(1 + random.below(9));
    for (size_t& length : document) length = 1 + (random.below(20) == 0 ? random.below(90) : random.below(14));
  }
  lengths[count / 2] = std::vector<size_t>(300, 9);  // a large document
  return documents_of(lengths);
}

std::vector<Ids> all_samples(const DocumentSamples& samples) {
  std::vector<Ids> all(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    std::vector<int32_t> ends;
    samples.append(i, all[i], ends);
    REQUIRE(all[i].size() == size_t(samples.rows(i)));
    REQUIRE(samples.rows(i) <= samples.options().max_length);
  }
  return all;
}

std::vector<Ids> all_samples(const IdDocuments& documents, const SampleOptions& options) {
  const TokenStore store = store_of(documents);
  return all_samples(DocumentSamples(store, options, Part::training));
}

Ids tokens_of(const std::vector<Ids>& samples) {
  Ids tokens;
  for (const Ids& sample : samples) {
    std::copy_if(sample.begin(), sample.end(), std::back_inserter(tokens), [](int32_t id) { return id >= kFirst; });
  }
  return tokens;
}

size_t count_of(const std::vector<Ids>& samples, int32_t id) {
  size_t count = 0;
  for (const Ids& sample : samples) count += size_t(std::count(sample.begin(), sample.end(), id));
  return count;
}

const std::vector<SampleOptions> kAllOptions = [] {
  std::vector<SampleOptions> all;
  for (const Task task : {Task::masked, Task::next}) {
    for (const Fill fill : {Fill::full, Fill::sentences, Fill::segment}) {
      for (const bool across : {false, true}) {
        for (const int length : {3, 4, 16, 64, 100000}) {
          all.push_back({.task = task, .fill = fill, .across_documents = across, .max_length = length});
        }
      }
    }
  }
  return all;
}();

}  // namespace

TEST_CASE("samples: small examples for a masked language model") {
  const IdDocuments documents = documents_of({{3, 2}, {1}, {6}});  // 10 11 12, 13 14 | 15 | 16 .. 21
  const SampleOptions base{.task = Task::masked, .max_length = 6};
  SampleOptions options = base;
  CHECK(all_samples(documents, options) ==
        std::vector<Ids>{{1, 10, 11, 12, 13, 2}, {1, 14, 2}, {1, 15, 2}, {1, 16, 17, 18, 19, 2}, {1, 20, 21, 2}});
  options.across_documents = true;
  CHECK(all_samples(documents, options) ==
        std::vector<Ids>{{1, 10, 11, 12, 13, 2}, {1, 14, 2, 15, 2}, {1, 16, 17, 18, 19, 2}, {1, 20, 21, 2}});
  options = base;
  options.fill = Fill::sentences;
  CHECK(all_samples(documents, options) ==
        std::vector<Ids>{{1, 10, 11, 12, 2}, {1, 13, 14, 2}, {1, 15, 2}, {1, 16, 17, 18, 19, 2}, {1, 20, 21, 2}});
  options.across_documents = true;
  CHECK(all_samples(documents, options) ==
        std::vector<Ids>{{1, 10, 11, 12, 2}, {1, 13, 14, 2, 15, 2}, {1, 16, 17, 18, 19, 2}, {1, 20, 21, 2}});
  options.fill = Fill::segment;
  options.max_length = 100;
  CHECK(all_samples(documents, options) ==
        std::vector<Ids>{{1, 10, 11, 12, 2}, {1, 13, 14, 2}, {1, 15, 2}, {1, 16, 17, 18, 19, 20, 21, 2}});
}

TEST_CASE("samples: small examples for a causal language model; </s> only ends documents and follows its last token") {
  const IdDocuments documents = documents_of({{3, 2}, {1}, {4}});  // 10 11 12, 13 14 | 15 | 16 .. 19
  SampleOptions options{.task = Task::next, .max_length = 4};
  CHECK(all_samples(documents, options) == std::vector<Ids>{{10, 11, 12, 13}, {14, 2}, {15, 2}, {16, 17, 18}, {19, 2}});
  options.across_documents = true;
  CHECK(all_samples(documents, options) == std::vector<Ids>{{10, 11, 12, 13}, {14, 2, 15, 2}, {16, 17, 18}, {19, 2}});
  options.fill = Fill::sentences;
  CHECK(all_samples(documents, options) == std::vector<Ids>{{10, 11, 12}, {13, 14, 2}, {15, 2}, {16, 17, 18}, {19, 2}});
  options.fill = Fill::segment;
  CHECK(all_samples(documents, options) ==
        std::vector<Ids>{{10, 11, 12, 2}, {13, 14, 2}, {15, 2}, {16, 17, 18}, {19, 2}});
}

TEST_CASE("samples: small examples of documents apart, each with its own <s>") {
  const IdDocuments documents = documents_of({{3, 2}, {1}, {6}});  // 10 11 12, 13 14 | 15 | 16 .. 21
  SampleOptions options{.task = Task::masked, .across_documents = true, .documents_apart = true, .max_length = 6};
  CHECK(all_samples(documents, options) ==
        std::vector<Ids>{{1, 10, 11, 12, 13, 2}, {1, 14, 2, 1, 15, 2}, {1, 16, 17, 18, 19, 2}, {1, 20, 21, 2}});
  options.fill = Fill::sentences;
  CHECK(all_samples(documents, options) ==
        std::vector<Ids>{{1, 10, 11, 12, 2}, {1, 13, 14, 2}, {1, 15, 2}, {1, 16, 17, 18, 19, 2}, {1, 20, 21, 2}});
  options = {.task = Task::next, .across_documents = true, .documents_apart = true, .max_length = 7};
  CHECK(all_samples(documents, options) ==
        std::vector<Ids>{{10, 11, 12, 13, 14, 2}, {15, 2, 16, 17, 18, 19, 20}, {21, 2}});
  const TokenStore store = store_of(documents);
  const NextTokenBatch batch =
      make_next_token_batch(DocumentSamples(store, options, Part::training), std::vector<uint32_t>{1, 0});
  CHECK(batch.targets == Ids{15, 2, 16, 17, 18, 19, 20, 10, 11, 12, 13, 14, 2});
  CHECK(batch.inputs == Ids{1, 15, 1, 16, 17, 18, 19, 1, 10, 11, 12, 13, 14});
  CHECK(*batch.segments.offsets() == std::vector<int32_t>{0, 2, 7, 13});
}

TEST_CASE("samples: a segment of documents apart is of one document, and every token is in one segment") {
  const IdDocuments documents = random_documents(400);
  const TokenStore store = store_of(documents);
  std::vector<size_t> document_of(store.total_tokens(0) + kFirst);
  for (size_t d = 0; d < documents.size(); ++d)
    for (const Ids& sentence : documents[d])
      for (const int32_t id : sentence) document_of[size_t(id)] = d;
  for (SampleOptions options : kAllOptions) {
    if (!options.across_documents) continue;
    options.documents_apart = true;
    const DocumentSamples samples(store, options, Part::training);
    Ids ids, ends;
    for (size_t i = 0; i < samples.size(); ++i) {
      const size_t before = ids.size();
      samples.append(i, ids, ends);
      REQUIRE(ids.size() - before == size_t(samples.rows(i)));
      REQUIRE(samples.rows(i) <= options.max_length);
      REQUIRE(ends.back() == int32_t(ids.size()));
    }
    Ids expected(store.total_tokens(0));
    std::iota(expected.begin(), expected.end(), kFirst);
    CHECK(tokens_of({ids}) == expected);
    size_t begin = 0;
    for (const int32_t end : ends) {
      if (options.task == Task::masked) REQUIRE(ids[begin] == kBos);
      const Ids tokens = tokens_of({Ids(ids.begin() + int64_t(begin), ids.begin() + end)});
      REQUIRE(document_of[size_t(tokens.front())] == document_of[size_t(tokens.back())]);
      begin = size_t(end);
    }
    CHECK(ends.size() >= documents.size());
  }
}

TEST_CASE("samples: contain every token exactly once, in order, within the length; Fill::full fills them") {
  const IdDocuments documents = random_documents(400);
  const TokenStore store = store_of(documents);
  size_t sentences = 0;
  for (const auto& document : documents) sentences += document.size();
  Ids expected(store.total_tokens(0));
  std::iota(expected.begin(), expected.end(), kFirst);
  for (const SampleOptions& options : kAllOptions) {
    CAPTURE(int(options.task));
    CAPTURE(int(options.fill));
    CAPTURE(options.across_documents);
    CAPTURE(options.max_length);
    const DocumentSamples samples(store, options, Part::training);
    CHECK(samples.documents() == documents.size());
    CHECK(samples.tokens() == expected.size());
    const std::vector<Ids> all = all_samples(samples);
    CHECK(tokens_of(all) == expected);
    if (options.task == Task::masked) CHECK(count_of(all, kBos) == all.size());
    if (options.task == Task::next) {  // </s> is predicted once per document, or once per segment
      CHECK(count_of(all, kEos) == (options.fill == Fill::segment ? sentences : documents.size()));
      CHECK(count_of(all, kBos) == 0);
    }
    if (options.fill == Fill::full && options.across_documents) {
      for (size_t i = 0; i + 1 < all.size(); ++i) CHECK(samples.rows(i) >= options.max_length - 1);
    }
  }
}

TEST_CASE("samples: a text without document ends is one document; empty documents are ignored") {
  auto writer = TokenStoreWriter::in_memory(kNumbers, 1, "plain");
  writer.add({10, 11});
  writer.add({12});
  const TokenStore plain = writer.finish();
  CHECK(all_samples(DocumentSamples(plain, {}, Part::training)) == std::vector<Ids>{{1, 10, 11, 12, 2}});
  const IdDocuments documents{{}, {{10, 11}}, {}, {}, {{12}}, {}};
  const TokenStore store = store_of(documents);
  const DocumentSamples samples(store, {}, Part::training);
  CHECK(samples.documents() == 2);
  CHECK(all_samples(samples) == std::vector<Ids>{{1, 10, 11, 2}, {1, 12, 2}});
}

TEST_CASE("split: parts are disjoint, complete, mixed, about as large as requested, and independent of the samples") {
  const IdDocuments documents = random_documents(2000);
  const TokenStore store = store_of(documents);
  for (SampleOptions options : kAllOptions) {
    if (options.max_length < 16) continue;
    options.validation_share = 0.2;
    const DocumentSamples training(store, options, Part::training), validation(store, options, Part::validation);
    CHECK(training.documents() + validation.documents() == 2000);
    CHECK(double(validation.documents()) == doctest::Approx(400).epsilon(0.15));
    const Ids seen = tokens_of(all_samples(training)), held_out = tokens_of(all_samples(validation));
    CHECK(seen.size() == training.tokens());
    Ids expected_seen, expected_held_out;
    for (size_t d = 0; d < documents.size(); ++d) {
      Ids& part = part_of_document(d, 0.2) == Part::training ? expected_seen : expected_held_out;
      for (const Ids& sentence : documents[d]) part.insert(part.end(), sentence.begin(), sentence.end());
    }
    CHECK(seen == expected_seen);
    CHECK(held_out == expected_held_out);
  }
  size_t first_half = 0;
  for (uint64_t d = 0; d < 1000; ++d) first_half += part_of_document(d, 0.2) == Part::validation;
  CHECK(double(first_half) == doctest::Approx(200).epsilon(0.3));
}

TEST_CASE("split: the end of a single document is held out, even from inside a sentence, with its </s>") {
  const IdDocuments documents = documents_of({{5, 10, 5}});
  const TokenStore store = store_of(documents);
  SampleOptions options{.task = Task::next, .max_length = 4, .validation_share = 0.3};
  CHECK(all_samples(DocumentSamples(store, options, Part::training)) ==
        std::vector<Ids>{{10, 11, 12, 13}, {14, 15, 16, 17}, {18, 19, 20, 21}, {22, 23}});
  CHECK(all_samples(DocumentSamples(store, options, Part::validation)) ==
        std::vector<Ids>{{24, 25, 26, 27}, {28, 29, 2}});
  for (SampleOptions any : kAllOptions) {
    any.validation_share = 0.3;
    std::vector<Ids> all = all_samples(DocumentSamples(store, any, Part::training));
    const size_t seen = tokens_of(all).size();
    CHECK(seen == 14);
    for (const Ids& sample : all_samples(DocumentSamples(store, any, Part::validation))) all.push_back(sample);
    CHECK(tokens_of(all) == tokens_of({documents[0][0], documents[0][1], documents[0][2]}));
  }
  options.validation_share = 0.001;
  CHECK(contains(error_of([&] { DocumentSamples(store, options, Part::validation); }), "none of its 1 documents"));
}

TEST_CASE("samples: invalid options and stores are rejected") {
  const TokenStore store = store_of(documents_of({{5}}));
  const auto error = [&](const SampleOptions& options, Part part) {
    return error_of([&] { DocumentSamples(store, options, part); });
  };
  CHECK(contains(error({.max_length = 2}, Part::training), "a length of at least 3, got 2"));
  CHECK(contains(error({.validation_share = 1}, Part::training), "a validation share in [0, 1), got 1"));
  CHECK(contains(error({}, Part::validation), "documents: none of its 1 documents is for validation"));
  auto writer = TokenStoreWriter::in_memory(kNumbers, 2, "pairs");
  writer.add({1}, {2});
  const TokenStore pairs = writer.finish();
  CHECK(contains(error_of([&] { DocumentSamples(pairs, {}, Part::training); }), "pairs: expected a store of one side"));
  const DocumentSamples samples(store, {}, Part::training);
  CHECK(contains(error_of([&] { make_next_token_batch(samples, {}); }), "were cut for another task"));
}

TEST_CASE("batches: rows and targets of a masked language model, inputs and targets of a causal one") {
  const TokenStore store = store_of(documents_of({{3, 2}, {4}}));
  const DocumentSamples masked(store, {.task = Task::masked, .max_length = 7}, Part::training);
  const Masking masking({.size = 50, .mask = 5, .special = {1, 2, 5}, .continues_word = nullptr}, {.share = 0.4}, 1);
  const std::vector<uint32_t> order{1, 0};
  const MaskedBatch batch = make_masked_batch(masked, masking, 0, order);
  CHECK(batch.segments.count() == 2);
  CHECK(batch.segments.length(0) == 6);
  CHECK(batch.segments.length(1) == 7);
  REQUIRE(batch.rows.size() == 2 + 3);
  CHECK(std::is_sorted(batch.rows.begin(), batch.rows.end()));
  Ids restored = batch.ids;
  for (size_t k = 0; k < batch.rows.size(); ++k) restored[size_t(batch.rows[k])] = batch.targets[k];
  CHECK(restored == Ids{1, 15, 16, 17, 18, 2, 1, 10, 11, 12, 13, 14, 2});

  const DocumentSamples next(store, {.task = Task::next, .max_length = 4}, Part::training);
  const NextTokenBatch causal = make_next_token_batch(next, std::vector<uint32_t>{0, 1, 2, 3});
  CHECK(causal.targets == Ids{10, 11, 12, 13, 14, 2, 15, 16, 17, 18, 2});
  CHECK(causal.inputs == Ids{1, 10, 11, 12, 1, 14, 1, 15, 16, 1, 18});
  CHECK(causal.segments.count() == 4);
  CHECK(causal.segments.length(2) == 3);
}

TEST_CASE("batches: an epoch contains every sample once, and micro-batches are masked like the whole batch") {
  const TokenStore store = store_of(random_documents(400));
  const Masking masking({.size = 1000000, .mask = 5, .special = {1, 2, 5}, .continues_word = nullptr}, {}, 1);
  for (const Fill fill : {Fill::full, Fill::segment}) {
    const DocumentSamples samples(store, {.task = Task::masked, .fill = fill, .max_length = 32}, Part::training);
    const BatchOptions options{.budget = {BatchUnit::target_tokens, 512}};
    const BatchItems items(samples.name(), samples.size(), 1,
                           [&](size_t sample, int) { return uint64_t(samples.rows(sample)); });
    const EpochPlan plan = plan_epoch(items, options, 1, 4);
    std::multiset<uint32_t> seen;
    for (size_t b = 0; b < plan.size(); ++b) {
      const auto indices = plan.batch(b);
      seen.insert(indices.begin(), indices.end());
      const MaskedBatch whole = make_masked_batch(samples, masking, 4, indices);
      CHECK(whole.ids.size() <= 512);
      for (const size_t micro_batches : {1, 2, 4}) {
        std::multiset<std::pair<Ids, Ids>> parts, expected;  // the ids and targets of each sample
        const auto gather = [&](const MaskedBatch& batch, auto& into) {
          size_t k = 0;
          for (int s = 0; s < batch.segments.count(); ++s) {
            Ids targets;
            for (; k < batch.rows.size() && batch.rows[k] < batch.segments.end(s); ++k) {
              targets.push_back(batch.rows[k] - batch.segments.begin(s));
              targets.push_back(batch.targets[k]);
            }
            into.insert(
                {Ids(batch.ids.begin() + batch.segments.begin(s), batch.ids.begin() + batch.segments.end(s)), targets});
          }
        };
        gather(whole, expected);
        for (const auto& micro_batch : split_into_micro_batches(items, indices, micro_batches)) {
          gather(make_masked_batch(samples, masking, 4, micro_batch), parts);
        }
        CHECK(parts == expected);
      }
    }
    REQUIRE(seen.size() == samples.size());
    CHECK(*seen.begin() == 0);
    CHECK(*seen.rbegin() == samples.size() - 1);
    CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  }
}
