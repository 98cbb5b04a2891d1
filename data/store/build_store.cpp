#include "gyre/data/store/build_store.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/data/store/encoded_rows.h"
#include "gyre/data/text/parallel_text.h"

namespace gyre {

namespace {

class StoreBuilder {
 public:
  StoreBuilder(const Vocabulary& vocabulary, const std::vector<Path>& files, const TextOptions& options)
      : vocabulary_(vocabulary), options_(options), text_(files, options.on_bad_line) {
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
    }
    require(text_.report().kept > 0, "[data] no usable line: ", text_.report().describe());
    return text_.report();
  }

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

  const Vocabulary& vocabulary_;
  TextOptions options_;
  ParallelText text_;
};

}  // namespace

LineReport build_token_store(const Vocabulary& vocabulary, const std::vector<Path>& files, const Path& output,
                             const TextOptions& options) {
  StoreBuilder builder(vocabulary, files, options);
  auto writer = TokenStoreWriter::to_file(vocabulary, int(files.size()), output);
  LineReport report = builder.run(writer);
  writer.finish();
  return report;
}

Corpus open_corpus(const Vocabulary& vocabulary, const std::vector<Path>& files, const TextOptions& options) {
  if (files.size() == 1 && TokenStore::recognizes(files[0])) {
    TokenStore store(files[0]);
    store.require_vocabulary(vocabulary);
    return {std::move(store), std::nullopt};
  }
  for (const Path& file : files) {
    require(!TokenStore::recognizes(file), "[data] ", file.string(),
            ": a token store holds both sides, so it must be the only file");
  }
  StoreBuilder builder(vocabulary, files, options);
  auto writer = TokenStoreWriter::in_memory(vocabulary, int(files.size()), files[0].string());
  LineReport report = builder.run(writer);
  return {writer.finish(), std::move(report)};
}

}  // namespace gyre
