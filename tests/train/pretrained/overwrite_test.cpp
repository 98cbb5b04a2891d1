// Imports and exports over other models leave the files of a new directory, and a failure leaves the old model.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "gyre/train/pretrained/hugging_face.h"
#include "tests/train/pretrained/hugging_face_copy.h"

using namespace gyre;

namespace {

namespace fs = std::filesystem;

// The contents of all files, by path within the directory; links have their targets.
std::map<std::string, std::string> contents(const Path& directory) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().lexically_relative(directory).string();
    if (entry.is_symlink()) {
      all[name] = "-> " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      all[name] = read_file(entry.path());
    }
  }
  return all;
}

// Directories of Hugging Face of several kinds: with a vocabulary of WordPiece or of byte-level BPE, or without one.
class Sources {
 public:
  Sources() {
    add("bert", hugging_face_golden("bert"));
    add("classifier", hugging_face_golden("roformer-classifier"));
    add("bare", hugging_face_golden("roformer"));
    fs::remove(all_.back() / "vocab.txt");
    for (const char* name : {"llama", "gpt2"}) add(name, decoder_golden(name));
    write_file(all_.back() / "generation_config.json", R"({"do_sample": true})");
  }
  const std::vector<Path>& all() const { return all_; }

 private:
  void add(const char* name, const Path& golden) {
    all_.push_back(directory_ / name);
    fs::copy(golden, all_.back());
  }
  TemporaryDirectory directory_;
  std::vector<Path> all_;
};

// Calls test(before, after) for each pair of kinds of models, also for twice the same.
template <class Test>
void for_each_pair(const Test& test) {
  const Sources sources;
  for (const Path& before : sources.all()) {
    for (const Path& after : sources.all()) {
      CAPTURE(before.string());
      CAPTURE(after.string());
      test(before, after);
    }
  }
}

}  // namespace

TEST_CASE("overwrite: an import over another model leaves the files of a new run") {
  for_each_pair([](const Path& before, const Path& after) {
    const TemporaryDirectory directory;
    write_imported_run(read_hugging_face(before), before, directory / "run", false);
    // The files that training, and imports of other kinds of models, leave in a run.
    for (const char* left : {"vocab.model", "vocab.json", "train.toml", "metrics.jsonl", "train.log", "task.json",
                             "events.out.tfevents.1", "generation_config.json"})
      write_file(directory / "run" / left, "old");
    fs::copy(directory / "run/checkpoints/step-00000000", directory / "run/checkpoints/step-00000400");
    write_file(directory / "run/notes.txt", "mine");
    const HuggingFaceModel read = read_hugging_face(after);
    write_imported_run(read, after, directory / "run", true);
    write_imported_run(read, after, directory / "new", false);
    auto expected = contents(directory / "new");
    expected["notes.txt"] = "mine";
    CHECK(contents(directory / "run") == expected);
  });
}

TEST_CASE("overwrite: an export over another model leaves the files of a new directory") {
  for_each_pair([](const Path& before, const Path& after) {
    const TemporaryDirectory directory;
    export_model(read_hugging_face(before), directory / "out");
    for (const char* left :
         {"model-00001-of-00002.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "vocab.json",
          "merges.txt", "tokenizer.json", "tokenizer.model", "special_tokens_map.json", "added_tokens.json",
          "chat_template.jinja", "vocab.txt", "generation_config.json", "tokenizer_config.json", "README.md"})
      write_file(directory / "out" / left, "old");
    write_file(directory / "out/notes.txt", "mine");
    const HuggingFaceModel read = read_hugging_face(after);
    export_model(read, directory / "out", {.overwrite = true});
    export_model(read, directory / "new");
    auto expected = contents(directory / "new");
    expected["notes.txt"] = "mine";
    CHECK(contents(directory / "out") == expected);
  });
}

TEST_CASE_FIXTURE(InDirectory, "overwrite: a failure leaves the old model as it was") {
  const HuggingFaceModel read = read_hugging_face(hugging_face_golden("bert"));
  const auto fail = [](const Path&) { throw Error("no space left"); };
  CHECK(error_of([&] { export_model(read, directory / "out", {.complete = fail}); }) == "no space left");
  CHECK(!fs::exists(directory / "out"));
  export_model(read, directory / "out");
  const auto before = contents(directory / "out");
  CHECK(error_of([&] { export_model(read, directory / "out", {.overwrite = true, .complete = fail}); }) ==
        "no space left");
  CHECK(contents(directory / "out") == before);
  write_imported_run(read, hugging_face_golden("bert"), directory / "run", false);
  CHECK(contains(error_of([&] { export_model(read, directory / "run", {.overwrite = true}); }),
                 "holds a run of Gyre: use another --output"));
}

TEST_CASE_FIXTURE(InDirectory, "overwrite: files are replaced together, after all of them are written") {
  write_file(directory / "old", "old");
  fs::create_directories(directory / "kept/inner");
  write_file(directory / "kept/inner/file", "kept");
  replace_files(
      directory.path(),
      [&](const Path& into) {
        CHECK(read_file(directory / "old") == "old");
        fs::create_directories(into / "kept/inner");
        write_file(into / "kept/inner/other", "new");
        write_file(into / "new", "new");
        fs::create_symlink("new", into / "link");
      },
      [&] { fs::remove(directory / "old"); });
  const std::map<std::string, std::string> expected{
      {"kept/inner/file", "kept"}, {"kept/inner/other", "new"}, {"link", "-> new"}, {"new", "new"}};
  CHECK(contents(directory.path()) == expected);
}
