#include "gyre/data/store/build_store.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/parallel_text.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {
namespace {

// Encodes rows of text to ids, one chunk of rows at a time.
struct EncodedRow {
  TextRow row;
  std::array<std::vector<int32_t>, 2> ids;
};

constexpr size_t kRowsPerThread = 2048, kRowBytesPerThread = size_t{8} << 20;

void encode_chunk(const Vocabulary& vocabulary, size_t sides, std::vector<EncodedRow>& chunk) {
  parallel_for(chunk.size(), 16, [&](size_t i) {
    for (size_t side = 0; side < sides; ++side) {
      const Vocabulary& encodes = sides == 1 ? vocabulary : vocabulary.side(int(side));
      chunk[i].ids[side] = encodes.encode(chunk[i].row.text[side]);
    }
  });
}

// Reads and encodes the next chunk: enough rows to keep all threads busy, but a bounded number of bytes, however long
// the rows are. Returns false at the end. Encodes with OpenMP threads; the ids do not depend on their number.
bool read_encoded(const Vocabulary& vocabulary, ParallelText& text, std::vector<EncodedRow>& chunk) {
  const size_t rows = kRowsPerThread * size_t(threads()), bytes = kRowBytesPerThread * size_t(threads());
  chunk.clear();
  size_t read = 0;
  for (TextRow row; chunk.size() < rows && read < bytes && text.next(row);) {
    read += row.text[0].size() + row.text[1].size();
    chunk.push_back({std::move(row), {}});
  }
  encode_chunk(vocabulary, text.sides(), chunk);
  return !chunk.empty();
}

class StoreBuilder {
 public:
  StoreBuilder(const Vocabulary& vocabulary, TextInputs files, const TextOptions& options)
      : vocabulary_(vocabulary), options_(options), text_(std::move(files), options.on_bad_line) {
    if (options.max_length < 2)
      throw UsageError("[data] --max-length: expected at least 2 tokens, got ", options.max_length);
    text_.report().limit = concat(options.max_length, " tokens");
  }

  LineReport run(TokenStoreWriter& writer) {
    std::vector<EncodedRow> chunk;
    while (read_encoded(vocabulary_, text_, chunk)) {
      for (EncodedRow& row : chunk) {
        if (!fit(row)) continue;
        writer.add(row.ids[0], row.ids[1]);
        ++text_.report().kept;
      }
      text_.report().require_clean(options_.on_bad_line);
      show_progress();
    }
    text_.report().require_clean(options_.on_bad_line);
    require(text_.report().kept > 0, "[data] no usable line: ", text_.report().describe(),
            text_.inputs().can_rewind() ? "" : " (a pipe can be read only once)");
    return text_.report();
  }

  size_t sides() const { return text_.sides(); }

 private:
  // Returns whether the row can be stored. Reports a bad row; crops an over-long one if the options say so.
  bool fit(EncodedRow& row) {
    const auto longest = size_t(options_.max_length) - 1;
    for (size_t side = 0; side < text_.sides(); ++side) {
      if (!row.ids[side].empty()) continue;
      text_.report().skip(BadLine::empty, row.row.line, text_.place(row.row));
      return false;
    }
    if (row.ids[0].size() <= longest && row.ids[1].size() <= longest) return true;
    if (!options_.crop) {
      text_.report().skip(BadLine::too_long, row.row.line, text_.place(row.row));
      return false;
    }
    for (auto& ids : row.ids) ids.resize(std::min(ids.size(), longest));
    ++text_.report().cropped;
    return true;
  }

  void show_progress() const {
    if (!options_.on_progress) return;
    uint64_t bytes = 0, all = 0;
    for (const TextInput& input : text_.inputs()) {
      bytes += input.file_bytes_read();
      all += input.file_bytes();
    }
    options_.on_progress(bytes, text_.inputs().can_rewind() ? all : 0);
  }

  const Vocabulary& vocabulary_;
  TextOptions options_;
  ParallelText text_;
};

}  // namespace

LineReport build_token_store(const Vocabulary& vocabulary, TextInputs files, const Path& output,
                             const TextOptions& options) {
  StoreBuilder builder(vocabulary, std::move(files), options);
  auto writer = TokenStoreWriter::to_file(vocabulary, int(builder.sides()), output);
  LineReport report = builder.run(writer);
  writer.finish();
  return report;
}

Corpus open_corpus(const Vocabulary& vocabulary, TextInputs files, const TextOptions& options) {
  require(!files.empty(), "[data] expected text files or a token store");
  std::vector<TokenStore> stores;
  std::string name;
  const auto is_text = [](const TextInput& file) { return file.kind() != TextKind::token_store; };
  const auto text = std::ranges::find_if(files, is_text);
  for (const TextInput& file : files) {
    if (is_text(file)) continue;
    require(text == files.end(), "[data] ", file.name(),
            ": a token store holds both sides, so expected only token stores beside it, got ",
            text == files.end() ? "" : text->name());
    stores.emplace_back(file.path()).require_vocabulary(vocabulary);
    name += (name.empty() ? "" : " + ") + file.name();
  }
  if (stores.size() == 1) return {std::move(stores.front()), std::nullopt};
  if (!stores.empty()) return {TokenStore::chain(name, std::move(stores)), std::nullopt};
  const std::string first = files.front().name();
  StoreBuilder builder(vocabulary, std::move(files), options);
  auto writer = TokenStoreWriter::in_memory(vocabulary, int(builder.sides()), first);
  LineReport report = builder.run(writer);
  return {writer.finish(), std::move(report)};
}

}  // namespace gyre
