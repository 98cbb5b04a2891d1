#include "tools/help/help_topics.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <tuple>
#include <vector>

#include "gyre/core/error.h"
#include "tools/command_line/equivalents.h"

namespace gyre {

namespace {

constexpr size_t kTopicWidth = 80;

// A paragraph in lines of at most kTopicWidth characters, indented from the second line on.
std::string wrapped(const std::string& text) {
  constexpr std::string_view kIndentation = "    ";
  std::string lines;
  size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word; column += word.size()) {
    if (column > 0 && column + 1 + word.size() > kTopicWidth) {
      lines += concat("\n", kIndentation);
      column = kIndentation.size();
    } else if (column > 0) {
      lines += ' ';
      ++column;
    }
    lines += word;
  }
  return lines + "\n";
}

// The meanings of options' names in other programs, as the options declare them, each once with all its names.
std::string other_meanings() {
  std::vector<OtherMeaning> all;
  for (const Option& option : declared_options()) {
    for (const OtherMeaning& meaning : option.elsewhere) {
      const auto is_same = [&](const OtherMeaning& other) {
        return std::tie(other.program, other.there, other.here) ==
               std::tie(meaning.program, meaning.there, meaning.here);
      };
      const auto found = std::ranges::find_if(all, is_same);
      OtherMeaning& one =
          found == all.end()
              ? all.emplace_back(OtherMeaning{{}, meaning.program, meaning.there, meaning.here, meaning.is_noted})
              : *found;
      for (const std::string& name : meaning.names)
        if (std::ranges::count(one.names, name) == 0) one.names.push_back(name);
    }
  }
  std::string text;
  for (const OtherMeaning& meaning : all) {
    std::string names;
    for (const std::string& name : meaning.names)
      names += concat(names.empty() ? "--" : ", --", name, meaning.is_noted ? " *" : "");
    text += wrapped(concat(names, ": in ", meaning.program, ": ", meaning.there, "; here: ", meaning.here));
  }
  return text;
}

const std::array kTopics{HelpTopic{"batches", "the global batch: size, ranks, accumulation, memory",
                                   R"(A global batch is the data of one update, over all ranks. --mini-batch-words
is its size, in the unit of --batch-unit: tokens of one side of a translation,
tokens of all sides, or sentences. --mini-batch N is short for N sentences.
With more ranks the global batch stays the same: only the speed changes.

Batches are packed: sentences are concatenated without padding, and sentences
of similar length are batched together (--maxi-batch batches are sorted at a
time). A sentence longer than a batch is a batch by itself. Translation skips
sentences longer than --max-length. The order depends only on --seed and the
epoch.

If memory runs out, split each rank's part into micro-batches whose gradients
are accumulated. gyre plan estimates the memory of a job in advance:

  gyre train nmt --config run.toml --mini-batch-words 25000 --optimizer-delay 4
  gyre plan nmt --config run.toml --mini-batch-words 25000
)"},

                         HelpTopic{"checkpoints", "save, resume, average and verify a run",
                                   R"(A run saves a checkpoint every --save-freq (500u: updates, 2e: epochs,
1Gt: target tokens), at its end, and on a signal. It keeps the newest
--keep-last checkpoints, every multiple of --keep-every, and the best one by the
first of --valid-metrics.

Ctrl-C, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU end a run after the
current update and a checkpoint; a second Ctrl-C ends it at once. mpirun kills
its ranks two seconds after Ctrl-C or SIGTERM, saved or not. So send it USR1, or
start it by tools/scripts/mpirun.sh, which does that on any of these signals:

  kill -USR1 $(pidof mpirun)

The same command resumes the run from its newest complete checkpoint, bit for
bit. A validation that a signal interrupted is done first. Model, data,
vocabulary, seed, lengths and batches must not change. Other changes, such as
the learning rate, are reported. --overwrite deletes the run and starts a new
one; with --no-auto-resume an existing run is an error.

  gyre train nmt --model run              resume with the options of train.toml
  gyre train nmt --model run --after 20e  resume and train longer
  gyre checkpoint info --model run --checkpoint last
  gyre checkpoint verify --model run      compare all tensors with checksums
  gyre checkpoint average --model run --last 5
  gyre translate --model run --checkpoint average < test.en
  gyre checkpoint prune --model run --keep-last 2

Every command that reads a model accepts --checkpoint best, last, average or a
name such as step-00001000. The default is best, or last if there is no best.
See also: gyre help run-directory
)"},

                         HelpTopic{"configuration", "options in TOML files, names from other programs",
                                   R"(gyre train and gyre plan read options from files. The names are those of the
command line without the dashes:

  position = "rope"
  learn-rate = 4e-3
  valid-metrics = ["bleu", "cross-entropy"]
  auto-resume = false

  gyre train nmt --config base.toml mine.toml --seed 2

Later files override earlier ones, and the command line overrides all files,
also when they use different names of an option. Any option overrides a
preset. An unknown name is an error that suggests the nearest name. Every run
writes its resolved options to run/train.toml, which --config accepts.
tools/recipes in the source tree has files to start from.

Many options also have the names of Marian or fairseq: --lr is --learn-rate.
Periods have Marian's form (--valid-freq 5000u, --after 10Gt; a plain number
counts updates). --task and --preset choose only the shape of a model; Marian's
--task also sets rates and dropout. These names mean something else in another
program, and the log starts with a note about those that are marked with *:

)",
                                   other_meanings},

                         HelpTopic{"devices", "CPUs, GPUs and threads",
                                   R"(--device cpu is the default; cuda is the first GPU, cuda:N is GPU number N.
Under mpirun, cuda gives each rank the GPU of its local rank on the machine, or
the only one that it sees.
Checkpoints are interchangeable between CPUs and GPUs.

  gyre --build-info                           lists the available GPUs
  gyre train nmt --config run.toml --device cuda --precision bf16
  mpirun -n 4 gyre train nmt --config run.toml --device cuda

Without the CUDA backend, --device cuda is an error; make cuda builds a
program that has it.

On CPUs the program selects kernels at run time: AVX2 or AVX-512 on x86-64, NEON
on ARM. --cpu-threads is the number of threads per rank. The default 0 uses the
cores that the process was given, within the CPU quota of a container; in
training the ranks of a machine divide them. Ranks times threads should not
exceed the number of cores.
)"},

                         HelpTopic{"environment", "environment variables",
                                   R"(OMP_NUM_THREADS      number of threads; --cpu-threads overrides it. A rank of
                     gyre train has at most one thread per core of its own
OMP_THREAD_LIMIT     most threads of a process
OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY, KMP_AFFINITY
                     threads are not bound; places limit the cores that are
                     used
GOMP_SPINCOUNT       spinning of idle OpenMP threads; gyre sets 1000
                     unless this or OMP_WAIT_POLICY is set
KMP_BLOCKTIME        the same for builds with Clang; gyre sets 20us
OPENBLAS_CORETYPE    kernels of OpenBLAS: on ARM of fp32 products, on x86-64
                     only of the reference of gyre bench
CUDA_VISIBLE_DEVICES the GPUs that --device cuda and cuda:N count
OMPI_COMM_WORLD_SIZE, PMI_SIZE, PMI_RANK, PMIX_RANK, SLURM_STEP_NUM_TASKS
                     set by mpirun or srun: gyre is one of several ranks
OMPI_ALLOW_RUN_AS_ROOT, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
                     both 1: Open MPI's mpirun runs as root (containers)
GYRE_COMPOSED        "all", or names of fused ops separated by commas: they
                     run their composed definitions, to compare or to study
)"},

                         HelpTopic{"exit-status", "exit status and error messages",
                                   R"(0  success; also a training run that a signal stopped after saving
1  the command failed: a file, a number, memory, another rank
2  usage error: an unknown option, an invalid value or an invalid combination
   of options

The last line on standard error is the error message. It names the option or
file, the expected value and the actual value. If one of several ranks fails,
all ranks exit; with mpirun -q the error of that rank is the last line.
)"},

                         HelpTopic{"positions", "position encodings and kinds of attention",
                                   R"(--position selects the position encoding of any model; --help-all of a train
command lists them with their options. The default is rope: queries and keys
are rotated by their positions (RoFormer). Its options are --rope-base,
--rotary-dims, --rope-learnable and others.

Texts longer than the training length: learned, tupe and sinusoidal are
limited to --max-positions. alibi and wavelet fade with the distance. rope has
no limit, and --rope-scaling yarn keeps its angles within the trained range.

  gyre train lm --preset lm-tiny --position alibi ...
  gyre plot decay --output decay.svg
  gyre plot position --model lm/ --output position.svg
  gyre evaluate extrapolation --model lm/ --input valid.txt --lengths 512,2512

--attention accepts softmax, window (the last --attention-window tokens, or
half of them on each side) and linear, whose cost is linear in the length.
linear needs an encoding that adds nothing to the scores, such as rope or
sinusoidal. Translation models support only softmax. tools/docs/positions.md
in the source tree has all formulas.
)"},

                         HelpTopic{"precision", "fp32, tf32, bf16 and int8",
                                   R"(--precision selects the precision of activations and matrix products. Weights,
statistics, softmax, losses, the optimizer state and checkpoints stay fp32.

fp32  the default, on all devices
tf32  GPUs only: activations stay fp32, matrix products round their operands
bf16  bf16 activations and operands of matrix products, fp32 sums. On CPUs
      it requires AVX512-BF16, or FEAT_BF16 on ARM
int8  CPUs only, for trained models (translate, score, generate, evaluate,
      bench decode): products round activations and weights to int8
      times a scale per row; everything else is fp32
auto  bf16 if the device supports it, else fp32

  gyre --build-info | grep BF16
  gyre bench step --preset nmt-base --precision auto

--gradient-dtype bf16 is independent: it rounds the gradients sent between
ranks and sums them in fp32. gyre gradcheck compares gradients in fp64.
)"},

                         HelpTopic{"ranks", "data parallelism: several processes and machines",
                                   R"(mpirun starts the ranks. Each has the whole model, a part of every global batch
and its own cores or GPU. Gradients are all-reduced during backward and divided
by the number of tokens, so the number of ranks is not a hyperparameter.

  mpirun -n 2 gyre train nmt --config run.toml --model run
  mpirun --hostfile hosts --map-by socket --bind-to socket \
    gyre train nmt --config run.toml --model /shared/run

The program, the data and the run directory must be on a file system that all
machines share; only rank 0 writes. A run can resume with a different number of
ranks.

--deterministic         the same bits for any number of ranks up to
                        --micro-batches (8), with one thread each
--zero 1                shard the optimizer state over the ranks (ZeRO stage 1)
--zero 2                shard the gradients too (ZeRO stage 2)
--gradient-dtype bf16   halve the size of gradient messages
--watchdog-timeout S    abort the job and name the rank that does not respond

Before a long job, measure the link and estimate the scaling:

  mpirun --hostfile hosts --map-by node gyre bench allreduce
  gyre plan nmt --config run.toml --link-gbit 8 --latency-us 50
)"},

                         HelpTopic{"run-directory", "the files of a run",
                                   R"(--model names the run directory. Training writes these files:

config.json               the shape of the model
train.toml                all resolved options, for --config
task.json                 labels and columns of a classifier
vocab.*                   a copy of the vocabulary
metrics.jsonl             one JSON object per line: training, validation, end;
                          each has "time" (UTC) and "seconds" of training
events.out.tfevents.*     the same for TensorBoard
train.log                 the log; tokens/s counts source and target, TFLOP/s
                          forward and backward of all ranks
checkpoints/step-00001000/
    model.safetensors     the weights, or their moving average (--ema)
    optimizer.safetensors the optimizer state
    state.json            progress, options, checksums of all tensors
checkpoints/average-*     from gyre checkpoint average
checkpoints/best, last, average
                          links to checkpoint directories

A checkpoint is complete or absent: it gets its name after it is on disk.
Two jobs cannot use the same run directory at the same time.

  gyre plot --model run --output curve.png
  gyre report --model run --output report.html
  tensorboard --logdir run
)"},

                         HelpTopic{"stages", "pretraining in stages",
                                   R"(gyre train mlm and lm can change the length of samples, the batch, the learning
rate and the data at given updates. A configuration file has a table for each
stage, after all other options, which hold where a stage gives nothing else:

  learn-rate = 1e-4

  [[stage]]
  updates = "200K"         # required
  max-length = 512
  mini-batch = 256         # or mini-batch-words and batch-unit

  [[stage]]
  updates = 12500
  max-length = 1536
  learn-rate = 5e-5        # the peak: the schedule of the run goes on

lr-schedule or lr-warmup begin a schedule for one stage alone, to which its
lr-cooldown, lr-cooldown-form and lr-power belong; train-sets are
the stage's data. The stages end the run. Each one begins with a new epoch and
ends with a validation (of --max-length) and a checkpoint. Weights, optimizer
state and counters carry on. Before a run is resumed, stages that have not
begun may be changed, added or removed.

  gyre plan mlm --config stages.toml --vocab-size 50000 --device h200
  gyre inspect stages --model run
)"},

                         HelpTopic{"text", "text files, bad lines, token stores",
                                   R"(Text is UTF-8 with one sentence per line. Translation reads two files with
corresponding lines. For language models a blank line ends a document. With
--documents line every line is a document; with --documents whole every file
is one, and all of its bytes count. Classification reads tab-separated
columns without quoting.

Every text may be compressed (gzip, zstd, xz) and may come from a pipe or
/dev/stdin. The corpora of vocabularies and language models may also be JSON
lines, each of which is a document (--text-field names the key of its text),
folders, and patterns in quotes ('web/*.jsonl.gz'); several are one corpus.
Under mpirun, rank 0 reads pipes for all ranks.

--line-ends keep, the default of vocabularies that can write them, keeps the
line ends inside documents; space and none join the lines otherwise.

Invalid UTF-8 and unequal line counts are errors that name the file and the
line. Empty and overlong lines are skipped and counted. --on-bad-line error or
skip treats all of them alike.

Convert text that is used often, or that is larger than memory, to a token
store, which is memory-mapped:

  gyre data build --vocab vocab.model --source train.en --target train.de \
    --output train.tok
  gyre data build --documents blank-line --vocab vocab.txt --source *.txt \
    --output text.tok
  gyre data info --store train.tok --verify
  gyre train nmt --train-sets train.tok --vocab vocab.model --model run ...

gyre data generate --output corpus/ writes a synthetic corpus: English-German
sentence pairs about numbers, dates, times and prices.
)"},

                         HelpTopic{"vocabularies", "kinds of vocabularies and how to make them",
                                   R"(gyre vocab --type KIND writes a vocabulary, which --vocab accepts everywhere.

unigram, bpe, char, word   SentencePiece, trained on --input
byte-bpe                   byte-level BPE of GPT-2 and Llama 3, trained
wordpiece                  BERT's vocab.txt, trained on --input or read from
                           --dictionary
wobert                     WordPiece on Chinese words: --dictionary of jieba,
                           pieces trained on --input or read from --vocab
subword-nmt                merges of subword-nmt: --codes and --dictionary
words                      whole words: --dictionary
bytes                      one token per byte value; needs no input

  gyre vocab --input train.en train.de --type bpe --size 10000 \
    --output vocab.model
  gyre vocab --input books.txt --type wordpiece --size 8000 --output vocab.txt
  gyre vocab --type bytes --output bytes.model

A translation model has one joint vocabulary for both languages. A run keeps a
copy of its vocabulary, which all commands use unless --vocab names another.
)"}};

}  // namespace

std::span<const HelpTopic> help_topics() { return kTopics; }

const HelpTopic* help_topic(std::string_view name) {
  const auto topic =
      std::find_if(kTopics.begin(), kTopics.end(), [name](const HelpTopic& t) { return t.name == name; });
  return topic == kTopics.end() ? nullptr : &*topic;
}

}  // namespace gyre
