#include "gyre/train/checkpoint/run_directory.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/model_file.h"
#include "tests/temporary_directory.h"
#include "tests/train/small_run.h"

using namespace gyre;

namespace {

namespace fs = std::filesystem;

void make_step(const Path& run, uint64_t updates) {
  write_directory(checkpoint_path(run, updates), [](const Path& d) { write_file(d / "state.json", "{}"); });
}

std::vector<std::string> names(const std::vector<Path>& paths) {
  std::vector<std::string> result;
  for (const Path& path : paths) result.push_back(path.filename().string());
  return result;
}

// A run with two checkpoints, of which the first is the best.
void train_with_links(const Path& run, SmallRun& small) {
  const RunDirectory directory(run);
  train_and_save(directory, small, 3);
  directory.mark_best(checkpoint_path(run, 3));
  train_and_save(directory, small, 3);
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "run directory: created with its checkpoints directory and lock") {
  const RunDirectory run(directory / "deep" / "run");
  CHECK(fs::is_directory(run.path() / "checkpoints"));
  CHECK(fs::exists(run.path() / ".lock"));
  CHECK(checkpoint_path("r", 1000) == Path("r/checkpoints/step-00001000"));
}

TEST_CASE_FIXTURE(InDirectory, "run directory: the error for a path that is a file names it") {
  write_file(directory / "run", "a file");
  CHECK(contains(error_of([&] { RunDirectory{directory / "run"}; }), (directory / "run").string()));
  CHECK(contains(error_of([&] { RunDirectory{directory / "run" / "below"}; }), (directory / "run").string()));
}

TEST_CASE_FIXTURE(InDirectory,
                  "lock: the error of a second job names the first; the lock is released when its process ends") {
  const Path path = directory / "run";
  {
    const RunDirectory first(path);
    const std::string message = error_of([&] { RunDirectory{path}; });
    CHECK(contains(message, path.string() + ": another job uses this run directory"));
    CHECK(contains(message, "process " + std::to_string(getpid()) + " on "));
  }
  CHECK_NOTHROW(RunDirectory{path});

  // A process that exits without any cleanup.
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const RunLock lock(path);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WEXITSTATUS(status) == 0);
  CHECK_NOTHROW(RunDirectory{path});
}

TEST_CASE("the names of runs and checkpoints") {
  CHECK(run_name("a/run") == "run");
  CHECK(run_name("a/run/") == "run");
  CHECK(run_name("a/run/.") == "run");
  CHECK(run_name("") == run_name("."));
  CHECK(checkpoint_updates("r/checkpoints/step-00001000") == 1000);
  for (const char* name :
       {"step-", "step-x", "step-12x", "step--1", "best", "99999999", "step-99999999999999999999999"})
    CHECK(!checkpoint_updates(name));
}

TEST_CASE_FIXTURE(InDirectory, "list_checkpoints returns only checkpoints, ordered by number") {
  const RunDirectory run(directory / "run");
  for (const uint64_t n : {uint64_t{20}, uint64_t{1000}, uint64_t{3}, uint64_t{123456789}, uint64_t{99999999}}) {
    make_step(run.path(), n);
  }
  fs::create_directory(checkpoints_path(run.path()) / "step-12x");
  fs::create_directory(checkpoints_path(run.path()) / "step-");
  fs::create_directory(checkpoints_path(run.path()) / "step-99999999999999999999999");
  fs::create_directory(checkpoints_path(run.path()) / "average-last-5");
  write_file(checkpoints_path(run.path()) / "step-00000007", "a file");
  CHECK(names(list_checkpoints(run.path())) ==
        std::vector<std::string>{"step-00000003", "step-00000020", "step-00001000", "step-99999999", "step-123456789"});
  CHECK(list_checkpoints(directory / "nothing").empty());
}

TEST_CASE_FIXTURE(InDirectory, "write_directory: atomic, also if it replaces a directory") {
  const Path target = directory / "step";
  write_directory(target, [](const Path& d) { write_file(d / "a", "1"); });
  CHECK_THROWS_AS(write_directory(target,
                                  [](const Path& d) {
                                    write_file(d / "a", "2");
                                    throw Error("disk full");
                                  }),
                  Error);
  CHECK(read_file(target / "a") == "1");
  write_directory(target, [](const Path& d) { write_file(d / "b", "3"); });
  CHECK(!fs::exists(target / "a"));
  CHECK(read_file(target / "b") == "3");
  CHECK(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()) == 1);
}

TEST_CASE_FIXTURE(InDirectory, "links: relative, replaced atomically, ignored if they are dangling") {
  const Path path = directory / "run";
  {
    const RunDirectory run(path);
    make_step(path, 1);
    make_step(path, 2);
    CHECK(!linked_checkpoint(path, "best"));
    run.mark_best(checkpoint_path(path, 1));
    run.mark_best(checkpoint_path(path, 2));
    CHECK(linked_checkpoint(path, "best") == checkpoint_path(path, 2));
    CHECK(fs::read_symlink(checkpoints_path(path) / "best") == Path("step-00000002"));
  }
  fs::rename(path, directory / "moved");
  CHECK(linked_checkpoint(directory / "moved", "best") == checkpoint_path(directory / "moved", 2));
  fs::remove_all(checkpoint_path(directory / "moved", 2));
  CHECK(!linked_checkpoint(directory / "moved", "best"));
}

TEST_CASE_FIXTURE(InDirectory, "prune: keeps the newest, the best and the last") {
  // A path that is not normalized, as a user may type it.
  const Path path = directory / "." / "x" / ".." / "run";
  fs::create_directory(directory / "x");
  const RunDirectory run(path);
  for (uint64_t n = 1; n <= 6; ++n) make_step(path, n);
  run.mark_best(checkpoint_path(path, 2));
  run.mark_last(checkpoint_path(path, 6));
  run.prune(0, 0);
  CHECK(list_checkpoints(path).size() == 6);
  run.prune(2, 0);
  CHECK(names(list_checkpoints(path)) == std::vector<std::string>{"step-00000002", "step-00000005", "step-00000006"});
  run.mark_last(checkpoint_path(path, 5));
  run.prune(1, 0);
  CHECK(names(list_checkpoints(path)) == std::vector<std::string>{"step-00000002", "step-00000005", "step-00000006"});
  run.prune(100, 0);
  CHECK(list_checkpoints(path).size() == 3);
  for (uint64_t n = 7; n <= 12; ++n) make_step(path, n);
  CHECK(names(run.prune(1, 4)) ==
        std::vector<std::string>{"step-00000006", "step-00000007", "step-00000009", "step-00000010", "step-00000011"});
  CHECK(names(list_checkpoints(path)) ==
        std::vector<std::string>{"step-00000002", "step-00000005", "step-00000008", "step-00000012"});
}

TEST_CASE_FIXTURE(
    InDirectory,
    "a run that was copied without links has them again when it is opened, and its readers find the checkpoints") {
  const Path run = directory / "run";
  SmallRun small;
  train_with_links(run, small);
  const Path copy = directory / "copy", best = checkpoints_path(copy) / "best", last = checkpoints_path(copy) / "last";
  const auto copy_without_links = [&] {
    fs::remove_all(copy);
    fs::copy(run, copy, fs::copy_options::recursive);  // follows links
    REQUIRE(!fs::is_symlink(best));
  };
  SUBCASE("whole") {
    copy_without_links();
    CHECK(linked_checkpoint(copy, "best") == checkpoint_path(copy, 3));
    CHECK(find_model_file(copy) == checkpoint_path(copy, 3) / "model.safetensors");
    const RunDirectory opened(copy);
    CHECK(fs::read_symlink(best) == "step-00000003");
    CHECK(fs::read_symlink(last) == "step-00000006");
    opened.mark_best(checkpoint_path(copy, 6));
    CHECK(fs::read_symlink(best) == "step-00000006");
  }
  SUBCASE("without the checkpoint itself") {
    copy_without_links();
    fs::remove_all(checkpoint_path(copy, 3));
    CHECK(linked_checkpoint(copy, "best") == best);
    const RunDirectory opened(copy);
    CHECK(fs::read_symlink(best) == "step-00000003");
    CHECK(list_checkpoints(copy).size() == 2);
  }
  SUBCASE("two copies of one checkpoint, without the checkpoint itself") {
    copy_without_links();
    fs::remove_all(last);
    fs::copy(best, last, fs::copy_options::recursive);
    fs::remove_all(checkpoint_path(copy, 3));
    SUBCASE("equal ones") {
      const RunDirectory opened(copy);
      CHECK(fs::read_symlink(best) == "step-00000003");
      CHECK(fs::read_symlink(last) == "step-00000003");
    }
    SUBCASE("different ones stay as they are") {
      write_file(last / "state.json", read_file(last / "state.json") + "\n");
      CHECK(contains(error_of([&] { RunDirectory{copy}; }), "last: expected a link or a copy of "));
      CHECK(!fs::is_symlink(best));
      CHECK(!fs::exists(checkpoint_path(copy, 3)));
    }
  }
  SUBCASE("a copy of an average without the average itself does not become a checkpoint") {
    copy_without_links();
    fs::rename(best, checkpoints_path(copy) / "average");
    fs::remove_all(checkpoint_path(copy, 3));
    CHECK(contains(error_of([&] { RunDirectory{copy}; }),
                   "average: expected a link or a copy of a checkpoint, found another directory; remove it"));
    CHECK(list_checkpoints(copy).size() == 1);
  }
  SUBCASE("nothing is removed if the checkpoint is damaged or the copy has other files") {
    copy_without_links();
    const auto keeps = [&](const std::string& reason) {
      CHECK(contains(error_of([&] { RunDirectory{copy}; }), reason));
      CHECK(fs::exists(best / "model.safetensors"));
      CHECK(fs::exists(last / "model.safetensors"));
      CHECK(!fs::is_symlink(best));
      CHECK(!fs::is_symlink(last));
    };
    // A fault of the link that is made last changes none of those before it.
    write_file(last / "notes.txt", "of the user");
    keeps(concat("in its copy; move this one out of ", last.string()));
    fs::remove(last / "notes.txt");
    write_file(best / "notes.txt", "of the user");
    keeps(concat("in its copy; move this one out of ", best.string()));
    write_file(checkpoint_path(copy, 3) / "notes.txt", "other notes");
    keeps("notes.txt: expected only the files of ");
    fs::remove(best / "notes.txt");
    fs::create_directory(best / "plots");
    keeps("plots: expected only the files of ");
    fs::remove(best / "plots");
    const Path model = checkpoint_path(copy, 3) / "model.safetensors";
    fs::resize_file(model, fs::file_size(model) - 1);
    keeps("step-00000003 is damaged (");
    fs::remove(model);
    keeps("): remove that one and give the copy its name, or remove the copy");
    write_file(checkpoint_path(copy, 3) / "state.json", "{}");
    keeps("found another checkpoint of this update: remove one of the two (gyre checkpoint verify ");
  }
  SUBCASE("something else in place of a link is an error that says what to do") {
    copy_without_links();
    fs::remove_all(best);
    fs::create_directory(best);
    CHECK(contains(error_of([&] { RunDirectory{copy}; }),
                   "best: expected a link or a copy of a checkpoint, found another directory; remove it"));
    fs::remove_all(best);
    write_file(best, "step-00000003");
    CHECK(contains(error_of([&] { RunDirectory{copy}; }), "found a file; remove it"));
  }
}

TEST_CASE("a crash while copies become links loses nothing: after each step, the next start completes the change") {
  const TemporaryDirectory directory;
  const Path run = directory / "run";
  SmallRun small;
  train_with_links(run, small);
  average_last(run, 2);
  const Path copy = directory / "copy", inside = checkpoints_path(copy);
  struct Link {
    std::string name, target;
  };
  const std::vector<Link> links{{"best", "step-00000003"}, {"last", "step-00000006"}, {"average", "average-last-2"}};
  const auto opens = [&] {
    RunDirectory{copy};
    for (const auto& [name, target] : links) {
      CAPTURE(name);
      CHECK(fs::read_symlink(inside / name) == target);
      CHECK(read_file(inside / name / "model.safetensors") ==
            read_file(checkpoints_path(run) / target / "model.safetensors"));
      CHECK_NOTHROW(verify_manifest(inside / target));
    }
    for (const auto& entry : fs::directory_iterator(inside)) CHECK(entry.path().filename().string()[0] != '.');
  };
  const auto link = [&](const Link& each, const char* suffix) {
    fs::create_directory_symlink(each.target, inside / concat(".", each.name, suffix));
  };
  const auto hide = [&](const Link& each, const char* suffix) {
    fs::rename(inside / each.name, inside / concat(".", each.name, suffix));
  };
  struct Step {
    const char* name;
    bool has_checkpoint;  // whether the checkpoint is there beside its copy
    std::function<void(const Link&)> reach;
  };
  const std::vector<Step> steps{
      {"nothing is done", true, [](const Link&) {}},
      {"the new link has a hidden name", true, [&](const Link& each) { link(each, ".tmp"); }},
      {"the two are exchanged", true,
       [&](const Link& each) {
         hide(each, ".tmp");
         fs::create_directory_symlink(each.target, inside / each.name);
       }},
      {"a part of the copy is removed", true,
       [&](const Link& each) {
         hide(each, ".tmp");
         fs::create_directory_symlink(each.target, inside / each.name);
         fs::remove(inside / concat(".", each.name, ".tmp") / "state.json");
       }},
      {"the copy has a hidden name", true,
       [&](const Link& each) {
         link(each, ".tmp");
         hide(each, ".old");
       }},
      {"the link is placed, and a part of the hidden copy is removed", true,
       [&](const Link& each) {
         hide(each, ".old");
         fs::create_directory_symlink(each.target, inside / each.name);
         fs::remove(inside / concat(".", each.name, ".old") / "state.json");
       }},
      {"nothing is done with an only copy", false, [](const Link&) {}},
      {"the link to an only copy has a hidden name", false, [&](const Link& each) { link(each, ".tmp"); }},
      {"an only copy has the name of its checkpoint", false,
       [&](const Link& each) {
         link(each, ".tmp");
         fs::rename(inside / each.name, inside / each.target);
       }},
  };
  for (const Step& step : steps) {
    for (const Link& each : links) {
      CAPTURE(step.name);
      CAPTURE(each.name);
      fs::remove_all(copy);
      fs::copy(run, copy, fs::copy_options::recursive);  // follows links
      if (!step.has_checkpoint) fs::remove_all(inside / each.target);
      step.reach(each);
      opens();
    }
  }
  // A new average takes the place of one with the same name.
  fs::rename(inside / "average-last-2", inside / ".average-last-2.old");
  fs::create_directory(inside / ".average-last-2.tmp");
  opens();
}

TEST_CASE_FIXTURE(InDirectory, "an average that was copied without its checkpoint keeps its name if it is free") {
  const Path run = directory / "run", average = checkpoints_path(run) / "average";
  SmallRun small;
  {
    const RunDirectory original(run);
    train_and_save(original, small, 3);
    train_and_save(original, small, 3);
  }
  fs::rename(average_last(run, 2), directory / "kept");
  fs::remove(average);
  fs::rename(directory / "kept", average);
  const std::string weights = read_file(average / "model.safetensors");
  SUBCASE("it is free") {
    const RunDirectory opened(run);
    CHECK(fs::read_symlink(average) == "average-last-2");
    CHECK(read_file(average / "model.safetensors") == weights);
  }
  SUBCASE("another average has it") {
    fs::create_directory(checkpoints_path(run) / "average-last-2");
    CHECK(contains(error_of([&] { RunDirectory{run}; }),
                   "average-last-2, found another average: remove it, or keep it under another name, such as "
                   "average-kept"));
    CHECK(read_file(average / "model.safetensors") == weights);
    fs::rename(average, checkpoints_path(run) / "average-kept");
    CHECK_NOTHROW(RunDirectory{run});
    CHECK(find_model_file(run, "average-kept") == checkpoints_path(run) / "average-kept" / "model.safetensors");
  }
}

TEST_CASE_FIXTURE(InDirectory, "leftovers of a crash are removed at the next start, everything else is kept") {
  const Path path = directory / "run";
  fs::create_directories(path / "checkpoints" / ".step-00000010.tmp");
  write_file(path / "checkpoints" / ".step-00000010.tmp" / "model.safetensors", "half");
  fs::create_directory_symlink("nowhere", path / "checkpoints" / ".last.tmp");
  write_file(path / ".config.json.tmp-123-0", "{");
  write_file(path / "config.json", "{}");
  write_file(path / ".hidden", "of the user");
  make_step(path, 5);
  const RunDirectory run(path);
  CHECK(!fs::exists(path / "checkpoints" / ".step-00000010.tmp"));
  CHECK(!fs::is_symlink(path / "checkpoints" / ".last.tmp"));
  CHECK(!fs::exists(path / ".config.json.tmp-123-0"));
  CHECK(fs::exists(path / "config.json"));
  CHECK(fs::exists(path / ".hidden"));
  CHECK(list_checkpoints(path).size() == 1);
}

TEST_CASE_FIXTURE(InDirectory,
                  "overwrite: removes the old run, but neither the vocabulary nor files that Gyre did not create") {
  const Path path = directory / "run";
  make_step(path, 5);
  fs::create_directory(checkpoints_path(path) / "average-last-5");
  fs::create_directory_symlink("step-00000005", checkpoints_path(path) / "best");
  write_file(checkpoints_path(path) / "precious.bin", "mine");
  fs::create_directory(checkpoints_path(path) / "keep");
  for (const char* name : {"config.json", "train.toml", "metrics.jsonl", "train.log", "events.out.tfevents.1.host",
                           "vocab.spm", "notes.txt"}) {
    write_file(path / name, "x");
  }
  const RunDirectory run(path);
  CHECK(fs::exists(path / "config.json"));
  std::ofstream(run.log(), std::ios::app) << "new line\n";
  run.remove_old_run();
  CHECK(read_file(run.log()) == "new line\n");
  CHECK(list_checkpoints(path).empty());
  CHECK(!fs::exists(checkpoints_path(path) / "average-last-5"));
  CHECK(!fs::is_symlink(checkpoints_path(path) / "best"));
  for (const char* name : {"config.json", "train.toml", "metrics.jsonl", "events.out.tfevents.1.host"}) {
    CHECK(!fs::exists(path / name));
  }
  for (const char* name : {"vocab.spm", "notes.txt", "checkpoints/precious.bin", "checkpoints/keep"}) {
    CHECK(fs::exists(path / name));
  }
  write_file(path / "vocab.txt", "x");
  run.remove_other_vocabularies(path / "vocab.txt");
  CHECK(!fs::exists(path / "vocab.spm"));
  CHECK(fs::exists(path / "vocab.txt"));
  CHECK(fs::exists(path / "notes.txt"));
}

TEST_CASE_FIXTURE(InDirectory, "run directory: a directory with other contents is an error and stays unchanged") {
  const auto refused = [&](const Path& path, const char* name) {
    const std::string message = error_of([&] { RunDirectory{path}; });
    CHECK(contains(message, path.string() + ": expected a new or empty directory or a run of Gyre, found " + name));
    CHECK(fs::exists(path / name));
    CHECK(!fs::exists(path / ".lock"));
  };
  fs::create_directory(directory / "papers");
  write_file(directory / "papers" / "thesis.txt", "mine");
  refused(directory / "papers", "thesis.txt");
  fs::create_directory(directory / "theirs");
  write_file(directory / "theirs" / "config.json", R"({"architectures": ["BertForMaskedLM"], "model_type": "bert"})");
  refused(directory / "theirs", "config.json");
  fs::create_directories(directory / "data" / "checkpoints");
  write_file(directory / "data" / "checkpoints" / "epoch1.pt", "mine");
  refused(directory / "data", "checkpoints");

  // Allowed: a vocabulary, the log of a job launcher, the remains of an earlier start.
  fs::create_directories(directory / "mine" / "checkpoints");
  for (const char* name : {"vocab.model", "slurm-17.out", "train.log", ".lock"}) {
    write_file(directory / "mine" / name, "x");
  }
  CHECK_NOTHROW(RunDirectory{directory / "mine"});
  write_file(directory / "mine" / "config.json", R"({"model": "encoder-only"})");
  write_file(directory / "mine" / "notes.txt", "x");
  CHECK_NOTHROW(RunDirectory{directory / "mine"});
}

TEST_CASE_FIXTURE(InDirectory, "run directory: abandon() removes a new run directory, but not an existing one") {
  const Path path = directory / "run";
  {
    const RunDirectory run(path);
    write_file(run.log(), "it went wrong");
    run.abandon();
    CHECK(!fs::exists(path));
  }
  fs::create_directory(path);
  RunDirectory{path}.abandon();
  CHECK(fs::exists(path));
}
