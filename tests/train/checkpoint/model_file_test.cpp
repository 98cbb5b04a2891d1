#include "gyre/train/checkpoint/model_file.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/small_run.h"

using namespace gyre;

namespace {

namespace fs = std::filesystem;

// The base of tests that make a run.
struct InRunPath : InDirectory {
  Path run = directory / "run";
};

// Creates a run with checkpoints 1 .. count, without `best`.
std::vector<std::vector<float>> make_run(const Path& path, int count) {
  const RunDirectory run(path);
  write_file(run.config(), "{}");
  SmallRun small;
  std::vector<std::vector<float>> weights;
  for (int n = 0; n < count; ++n) {
    small.train(1);
    save_checkpoint(run, small.parameters, small.optimizer, small.state);
    weights.push_back(small.weights());
  }
  return weights;
}

std::vector<float> loaded(const Path& model, const std::string& which = "") {
  SmallRun small(0, 5);
  load_model_weights(model, small.parameters, which);
  return small.weights();
}

}  // namespace

TEST_CASE_FIXTURE(InRunPath, "model file: best is preferred to last; links, names and paths select a checkpoint") {
  const auto weights = make_run(run, 3);
  CHECK(find_model_file(run) == checkpoint_path(run, 3) / "model.safetensors");
  point_link(run, "best", checkpoint_path(run, 2));
  CHECK(loaded(run) == weights[1]);
  CHECK(loaded(run, "last") == weights[2]);
  CHECK(loaded(run, "best") == weights[1]);
  CHECK(loaded(run, "step-00000001") == weights[0]);
  CHECK(loaded(run, checkpoint_path(run, 1).string()) == weights[0]);
  CHECK(loaded(checkpoint_path(run, 1)) == weights[0]);
  CHECK(loaded(checkpoint_path(run, 1) / "model.safetensors") == weights[0]);
}

TEST_CASE_FIXTURE(InRunPath, "model file: weights that were damaged are refused, unless they have no checksums") {
  make_run(run, 1);
  const Path file = checkpoint_path(run, 1) / "model.safetensors";
  std::string bytes = read_file(file);
  bytes.back() = char(bytes.back() ^ 1);
  write_file(file, bytes);
  CHECK(contains(error_of([&] { loaded(run); }), "expected checksum"));
  CHECK(contains(error_of([&] { loaded(file); }), "expected checksum"));
  CHECK(contains(error_of([&] { loaded(run / "checkpoints" / "." / "last" / "." / "model.safetensors"); }),
                 "expected checksum"));
  CHECK(contains(error_of([&] { average_chosen(run, {file.string()}); }), "expected checksum"));
  write_file(directory / "model.safetensors", bytes);
  CHECK(loaded(directory / "model.safetensors").size() > 0);
}

TEST_CASE_FIXTURE(InRunPath, "model file: the description of the selected weights") {
  make_run(run, 3);
  const std::string step = (run / "checkpoints/step-0000000").string();
  CHECK(describe_model(run) == step + "3 (last)");
  point_link(run, "best", checkpoint_path(run, 2));
  CHECK(describe_model(run) == step + "2 (best; the last is step-00000003)");
  CHECK(describe_model(run, "last") == step + "3 (last)");
  CHECK(describe_model(checkpoint_path(run, 1) / "model.safetensors") == step + "1 (the last is step-00000003)");
  CHECK(describe_model(run / "checkpoints/best") ==
        (run / "checkpoints/best").string() + " (best; the last is step-00000003)");
  point_link(run, "best", checkpoint_path(run, 3));
  CHECK(describe_model(run) == step + "3 (best and last)");
  average_last(run, 2);
  CHECK(describe_model(run, "average") ==
        (run / "checkpoints/average-last-2").string() + " (average; the last is step-00000003)");
  const Path alone = directory / "model.safetensors";
  fs::copy_file(checkpoint_path(run, 3) / "model.safetensors", alone);
  CHECK(describe_model(alone) == alone.string());
}

TEST_CASE_FIXTURE(InRunPath, "model file: the error for a missing file names it") {
  make_run(run, 1);
  CHECK(contains(error_of([&] { find_model_file(directory / "no"); }), (directory / "no").string()));
  CHECK(contains(error_of([&] { find_model_file(directory.path()); }), "expected model.safetensors or checkpoints"));
  CHECK(contains(error_of([&] { find_model_file(run, "average"); }), "no checkpoint 'average'"));
  CHECK(contains(error_of([&] { find_model_file(run, "step-7"); }), "got 'step-7'"));
  CHECK_THROWS_AS(find_model_file(checkpoint_path(run, 1), "best"), UsageError);
  fs::create_directories(directory / "empty" / "checkpoints");
  CHECK(contains(error_of([&] { find_model_file(directory / "empty"); }), "expected a run with checkpoints"));
}

TEST_CASE_FIXTURE(InRunPath, "model file: find_run finds the run directory of a model") {
  make_run(run, 1);
  for (const Path& model :
       {run, run / "", checkpoint_path(run, 1), checkpoint_path(run, 1) / "",
        checkpoint_path(run, 1) / "model.safetensors", run / "checkpoints/last/model.safetensors"}) {
    CHECK(fs::equivalent(find_run(model), run));
  }
  CHECK(contains(error_of([&] { find_run(directory.path()); }), "expected config.json"));
}

TEST_CASE_FIXTURE(InDirectory, "model file: sharded weights; errors name the tensor and its shard") {
  const char *first = "model-00001-of-00002.safetensors", *second = "model-00002-of-00002.safetensors";
  const SmallRun small;
  std::vector<NamedTensor> tensors;
  for (const Parameter& p : small.parameters) tensors.push_back({p.name, p.value});
  REQUIRE(tensors.size() == 3);
  const auto write = [&](const std::vector<NamedTensor>& in_first, const std::vector<NamedTensor>& in_second) {
    nlohmann::json places;
    for (const auto& tensor : in_first) places[tensor.name] = first;
    for (const auto& tensor : in_second) places[tensor.name] = second;
    write_safetensors(directory / first, in_first);
    write_safetensors(directory / second, in_second);
    write_file(directory / "model.safetensors.index.json", nlohmann::json{{"weight_map", places}}.dump());
  };
  const auto fails = [&] { return error_of([&] { loaded(directory.path()); }); };
  write({tensors[2], tensors[0]}, {tensors[1]});
  CHECK(loaded(directory.path()) == small.weights());
  CHECK(loaded(directory / "model.safetensors.index.json") == small.weights());
  write({tensors[0]}, {tensors[1]});
  CHECK(contains(fails(), "missing: layer.0.bias (6)"));
  write({tensors[0], tensors[2]}, {{"layer.0.weight", Tensor::zeros({6, 5})}, {"more", Tensor::zeros({1})}});
  CHECK(contains(fails(), std::string("wrong shape: layer.0.weight expected (6, 6), got (6, 5) in ") + second));
  CHECK(contains(fails(), std::string("unexpected: \"more\" (1) in ") + second));
  write(tensors, {{"more", Tensor::zeros({1})}});
  write_safetensors(directory / first, {tensors[0], tensors[1]});
  CHECK(contains(fails(), (directory / first).string() + ": tensor \"layer.0.bias\" is missing"));
  write_safetensors(directory / first, tensors);
  fs::remove(directory / second);
  CHECK(contains(fails(), second));
}

TEST_CASE_FIXTURE(InRunPath, "average: the mean of the newest checkpoints, found by its name and by the link") {
  const auto weights = make_run(run, 5);
  const Path output = average_last(run, 3);
  CHECK(output == run / "checkpoints/average-last-3");
  const auto got = loaded(run, "average");
  CHECK(got == loaded(output));
  for (size_t i = 0; i < got.size(); ++i) {
    const double mean = (double(weights[2][i]) + double(weights[3][i]) + double(weights[4][i])) / 3;
    CHECK(got[i] == static_cast<float>(mean));
  }
  CHECK_NOTHROW(verify_manifest(output));
  CHECK(list_checkpoints(run).size() == 5);
  CHECK(find_resumable(run)->checkpoint == checkpoint_path(run, 5));
  CHECK(contains(error_of([&] { read_train_state(output); }), "weights only"));
}

TEST_CASE_FIXTURE(InRunPath, "average: selected checkpoints; the average of one is equal to it") {
  const auto weights = make_run(run, 3);
  const Path output = average_chosen(run, {"step-00000001", checkpoint_path(run, 3).string()});
  CHECK(output.filename() == "average-2-chosen");
  const auto got = loaded(run, "average");
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i] == static_cast<float>((double(weights[0][i]) + double(weights[2][i])) / 2));
  }
  average_last(run, 1);
  CHECK(loaded(run, "average") == weights[2]);
}

TEST_CASE_FIXTURE(InDirectory,
                  "average: a run that was copied without links has them again; otherwise nothing is written") {
  const Path run = directory / "run", copy = directory / "copy", inside = checkpoints_path(copy);
  const auto weights = make_run(run, 3);
  average_last(run, 2);
  fs::copy(run, copy, fs::copy_options::recursive);  // follows links
  REQUIRE(!fs::is_symlink(inside / "average"));
  SUBCASE("another average") {
    average_last(copy, 3);
    CHECK(fs::read_symlink(inside / "average") == "average-last-3");
    CHECK(fs::read_symlink(inside / "last") == "step-00000003");
    CHECK(loaded(copy, "average-last-2") == loaded(run, "average"));
  }
  SUBCASE("a new average of the same name") {
    fs::remove_all(checkpoint_path(copy, 2));
    average_last(copy, 2);
    CHECK(fs::read_symlink(inside / "average") == "average-last-2");
    CHECK(loaded(copy, "average") != loaded(run, "average"));
  }
  SUBCASE("only the copy of a checkpoint is there") {
    fs::remove_all(checkpoint_path(copy, 3));
    average_chosen(copy, {"last", "step-00000001"});
    CHECK(fs::read_symlink(inside / "last") == "step-00000003");
    CHECK(fs::read_symlink(inside / "average") == "average-2-chosen");
  }
  SUBCASE("the links cannot be made") {
    write_file(inside / "average" / "notes.txt", "of the user");
    CHECK(contains(error_of([&] { average_last(copy, 3); }), "in its copy; move this one out of "));
    CHECK(contains(error_of([&] { average_chosen(copy, {"last"}); }), "in its copy; move this one out of "));
    CHECK(!fs::exists(inside / "average-last-3"));
    CHECK(!fs::exists(inside / "average-1-chosen"));
    CHECK(!fs::is_symlink(inside / "last"));
  }
  SUBCASE("the run of a job that trains has links and is not opened") {
    const RunDirectory job(copy);
    CHECK_NOTHROW(average_last(copy, 3));
  }
}

TEST_CASE_FIXTURE(InRunPath, "average: too few, broken or incompatible checkpoints are errors") {
  make_run(run, 2);
  CHECK(contains(error_of([&] { average_last(run, 5); }), "expected 5 checkpoints, found 2"));
  CHECK_THROWS_AS(average_last(run, 0), UsageError);
  CHECK(contains(error_of([&] { average_chosen(run, {"nothing"}); }), "got 'nothing'"));

  const Path model = checkpoint_path(run, 1) / "model.safetensors";
  std::string bytes = read_file(model);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(model, bytes);
  CHECK(contains(error_of([&] { average_last(run, 2); }), "expected checksum"));

  const Tensor three = Tensor::zeros({3}), two = Tensor::zeros({2});
  write_safetensors(directory / "a", {{"x", three}, {"y", two}});
  write_safetensors(directory / "b", {{"x", three}});
  write_safetensors(directory / "c", {{"x", two}, {"y", two}});
  const auto average = [&](const char* first, const char* second) {
    return error_of([&] { average_models({directory / first, directory / second}, directory / "out"); });
  };
  CHECK(contains(average("a", "b"), "tensor y of"));
  CHECK(contains(average("b", "a"), "tensor y is not in"));
  CHECK(contains(average("a", "c"), "tensor x: expected F32 (3) as in"));
  CHECK(!fs::exists(directory / "out"));
}

TEST_CASE_FIXTURE(InDirectory, "average: bf16 weights") {
  for (int n = 0; n < 2; ++n) {
    const std::vector<bfloat16> values{bfloat16(1.0F + float(n)), bfloat16(-3.0F)};
    write_safetensors(directory / std::to_string(n), {{"x", Tensor::from<bfloat16>({2}, values)}});
  }
  average_models({directory / "0", directory / "1"}, directory / "out");
  const SafetensorsFile file(directory / "out" / "model.safetensors");
  const Tensor mean = file.read(*file.find("x"));
  CHECK(float(mean.data<bfloat16>()[0]) == 1.5F);
  CHECK(float(mean.data<bfloat16>()[1]) == -3.0F);
}

TEST_CASE_FIXTURE(InDirectory, "average: integer tensors are copied from the first checkpoint") {
  for (int n = 0; n < 2; ++n) {
    write_safetensors(directory / std::to_string(n), {{"ids", Tensor::from<int32_t>({1}, std::vector<int32_t>{5 + n})},
                                                      {"d", Tensor::from<double>({1}, std::vector<double>{1.0 + n})}});
  }
  average_models({directory / "0", directory / "1"}, directory / "out");
  const SafetensorsFile file(directory / "out" / "model.safetensors");
  CHECK(file.read(*file.find("ids")).data<int32_t>()[0] == 5);
  CHECK(file.read(*file.find("d")).data<double>()[0] == 1.5);
}
