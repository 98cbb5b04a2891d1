#include "tools/help_topics.h"

#include <algorithm>
#include <array>

namespace gyre {

namespace {

const std::array kTopics{
    HelpTopic{"batches", "what an update sees: tokens, ranks, accumulation, memory",
              R"(A global batch is what one update sees, over all ranks. --mini-batch-words is
its size, counted as --batch-unit says: tokens of one side of a translation,
of all sides, or sentences. --mini-batch N is short for N sentences. More
ranks share the same batch: the speed changes, the training does not.

Batches are packed: sentences lie one after another without padding, and
sentences of similar length go together (--maxi-batch batches are sorted at a
time). A sentence longer than a batch is a batch of its own; in translation
those over --max-length are left out. The order is a function of --seed and
of the epoch alone.

Too little memory? Let a rank work through its part in several pieces, whose
gradients are added up, and ask beforehand what a job will need:

  gyre train nmt --config run.toml --mini-batch-words 25000 --optimizer-delay 4
  gyre plan nmt --config run.toml --mini-batch-words 25000
)"},

    HelpTopic{"checkpoints", "saving, continuing, averaging and checking a run",
              R"(A run saves every --save-freq (500u: updates, 2e: epochs, 1Gt: target tokens),
at its end, and when SIGTERM, SIGINT or SIGUSR1 asks it to end. The newest
--keep-last checkpoints stay, those of multiples of --keep-every too, and the
best one by the first of --valid-metrics.

The same command again continues the run from its newest whole checkpoint,
bit for bit; a validation that a signal left no time for is made first. Model,
data, vocabulary, seed, lengths and batches must not change; a change of the
learning rate and the like is only reported. --overwrite starts anew,
--no-auto-resume refuses to go on.

  gyre train nmt --model run              go on, as run/train.toml says
  gyre train nmt --model run --after 20e  go on for longer
  gyre checkpoint info --model run --checkpoint last
  gyre checkpoint verify --model run    every byte against its checksum
  gyre checkpoint average --model run --last 5
  gyre translate --model run --checkpoint average < test.en
  gyre checkpoint prune --model run --keep-last 2

Wherever a model is read, --checkpoint takes best, last, average or a name
such as step-00001000; without it best is taken, or last where there is none.
See also: gyre help run-directory
)"},

    HelpTopic{"configuration", "options in TOML files, and other programs' names for them",
              R"(gyre train and gyre plan read options from files, under the same names as on
the command line, without the dashes:

  position = "rope"
  learn-rate = 4e-3
  valid-metrics = ["bleu", "cross-entropy"]
  auto-resume = false

  gyre train nmt --config base.toml mine.toml --seed 2

A later file wins over an earlier one, and the command line over all files,
whichever of an option's names each of them uses; what a preset sets gives way
to any option. An unknown name is an error that offers the nearest one. Every
run writes its resolved options to run/train.toml, to give back with --config.
tools/recipes in the sources has files to start from.

Many options have the names of Marian's or fairseq's, too: --lr is --learn-rate.
Periods are Marian's (--valid-freq 5000u, --after 10Gt; a plain number is
updates). Some names mean something else than there; by those with a * the log
begins with a note.

name                     there                      here
--max-tokens *           fairseq: a GPU's batch,    the global batch, counted
                         by the longer side         as --batch-unit says
--batch-size *           fairseq: a GPU's batch     the global batch
--mini-batch-words       Marian: source words       tokens by --batch-unit
--update-freq *,         so many batches make one   into so many pieces a rank
--optimizer-delay *      update                     cuts its part of the batch
--min-lr *,              fairseq: training stops    the rate falls no lower
--stop-min-lr *          at this rate
--clip-norm              Marian: of the gradient    of the mean per predicted
                         of the batch's sum, 1      token, as in fairseq; 0
                         by default                 (never) by default
--label-smoothing        fairseq: over the other    over all words, as in
                         words                      Marian and PyTorch
cross-entropy            Marian: of a sentence;     of a token, in nats
(--valid-metrics)        fairseq's loss is in bits
--task, --preset         Marian: rates and dropout  the model's shape
                         as well
--encoder-attention-heads, --encoder-ffn-embed-dim,
--encoder-normalize-before, --encoder-learned-pos *
                         fairseq: of the encoder    of both stacks
--max-source-positions * fairseq: longest source    rows of position tables
--model                  Marian: a file             the run directory
--overwrite *            Marian: keeps one file     deletes the run that is
                         of the model               there, starts anew
--cpu-threads 0          Marian: GPUs               all cores
)"},

    HelpTopic{"devices", "CPUs, GPUs and threads",
              R"(--device cpu is the default; cuda is the first GPU, cuda:N the one of number N.
Under mpirun, cuda gives each rank the GPU of its own number among the ranks
of its machine. Checkpoints are the same for CPUs and GPUs.

  gyre --build-info                           which GPUs this program can use
  gyre train nmt --config run.toml --device cuda --precision bf16
  mpirun -n 4 gyre train nmt --config run.toml --device cuda

A program without the CUDA backend says so; make cuda builds one with it.

On CPUs one program takes AVX2 or AVX-512 where they are there. --cpu-threads
is the threads of a rank; 0 means all cores, in training those of the machine
shared by its ranks. Ranks times threads should not exceed the cores.
)"},

    HelpTopic{"environment", "the environment variables that matter",
              R"(OMP_NUM_THREADS      threads of a command other than gyre train, where
                     --cpu-threads does not say
GOMP_SPINCOUNT       how long idle threads of OpenMP spin; gyre sets 1000
                     unless this or OMP_WAIT_POLICY is set
OPENBLAS_CORETYPE    OpenBLAS's choice of kernels: the yardstick that
                     gyre bench compares with, and nothing else
CUDA_VISIBLE_DEVICES the GPUs that --device cuda and cuda:N count
OMPI_COMM_WORLD_SIZE, PMI_SIZE, PMI_RANK, PMIX_RANK
                     set by mpirun or srun: gyre is one of several ranks
OMPI_ALLOW_RUN_AS_ROOT, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
                     both 1: Open MPI's mpirun works for root (containers)
)"},

    HelpTopic{"exit-status", "what the program's exit status means",
              R"(0  done; a training that a signal asked to end has saved and ends with 0 too
1  the run failed: a file, a number, memory, another rank
2  the call was wrong: an unknown option, or a value or a combination of
   options that cannot be

An error is the last line on standard error. It names the thing, what was
expected and what came. When one of several ranks fails all of them end; with
mpirun -q its error is the last line.
)"},

    HelpTopic{"positions", "how a model learns of order, and how it attends",
              R"(--position takes none, sinusoidal, learned, rope, shaw, xl, t5, tupe, deberta,
alibi and wavelet, for every model. The default is rope: queries and keys turn
by their positions (RoFormer), and --rope-base, --rotary-dims and
--rope-learnable say how.

Texts longer than those of training: learned, tupe and sinusoidal end at
--max-positions; alibi and wavelets fade with the distance; rope goes on, and
--rope-scaling yarn keeps its angles within what training covered.

  gyre train lm --preset lm-tiny --position alibi ...
  gyre plot decay --output decay.svg
  gyre plot position --model lm/ --output position.svg
  gyre evaluate extrapolation --model lm/ --input valid.txt --lengths 512,2512

--attention takes softmax, window (the last --attention-window tokens, or half
on either side) and linear, whose cost grows with the length alone; linear
goes with none, sinusoidal, learned and rope. Models of translation have
softmax only. tools/docs/positions.md in the sources has every formula.
)"},

    HelpTopic{"precision", "fp32, tf32 and bf16",
              R"(--precision is that of activations and products. Weights, statistics, softmax,
losses and the optimizer stay fp32, and so do checkpoints.

fp32  the default, everywhere
tf32  on GPUs: activations stay fp32, products round their operands
bf16  activations and operands of products; sums are fp32. On CPUs it needs
      AVX512-BF16, and is refused without
auto  bf16 where the device has it, else fp32

  gyre --build-info | grep BF16
  gyre bench step --preset nmt-base --precision auto

--gradient-dtype bf16 is another thing: what travels between ranks is rounded,
and added in fp32. gyre gradcheck compares gradients in fp64.
)"},

    HelpTopic{"ranks", "data parallelism: several processes, several machines",
              R"(mpirun starts ranks, each with the whole model, its share of every batch and
its own cores or GPU. Gradients are summed while backward goes on, and divided
by the number of tokens, so the number of ranks is not part of the recipe.

  mpirun -n 2 gyre train nmt --config run.toml --model run
  mpirun --hostfile hosts --map-by socket --bind-to socket \
    gyre train nmt --config run.toml --model /shared/run

Program, data and run directory lie where every machine sees them; rank 0
writes. A run may go on with another number of ranks.

--deterministic       the same bits on any number of ranks up to --shards (8),
                      of one thread each
--zero 1              ranks share the optimizer's state: less memory
--gradient-dtype bf16 half as much travels
--hang-timeout S      a rank that does not come is named, and the job ends

Before a long job: the link's rate, and what more ranks would bring.

  mpirun --hostfile hosts --map-by node gyre bench allreduce
  gyre plan nmt --config run.toml --link-gbit 8 --latency-us 50
)"},

    HelpTopic{"run-directory", "the files of a run", R"(--model names the run directory. Training fills it:

config.json               the model's shape
train.toml                every resolved option: give it back with --config
task.json                 what a classifier predicts
vocab.*                   a copy of the vocabulary
metrics.jsonl             a JSON object a line: training, validation, the end,
                          each with "time" (UTC) and "seconds" of training
events.out.tfevents.*     the same for TensorBoard
train.log                 the log; tokens/s are those of source and target
checkpoints/step-00001000/
    model.safetensors     the weights, or their moving average (--ema)
    optimizer.safetensors the moments
    state.json            progress, options, a checksum for every tensor
checkpoints/average-*     from gyre checkpoint average
checkpoints/best, last, average
                          links to the directories beside them

A checkpoint is whole or not there: it gets its name once it is on the disk.
Two jobs cannot work in one run directory at once.

  gyre plot --model run --output curve.png
  tensorboard --logdir run
)"},

    HelpTopic{"text", "the text that training reads, bad lines, token stores",
              R"(Text is UTF-8, one sentence a line. Translation takes two files whose lines
belong together. For language models a blank line ends a document; with
--documents line every line does, with --documents whole a file is one stream
whose every byte counts. Classification takes tab-separated columns, without
quoting.

A line with bad UTF-8, and files of unequal length, are errors that name file
and line; empty and overlong lines are skipped and counted. --on-bad-line error
or skip treats all alike.

What is trained on often, or is larger than memory, becomes a token store,
which opens at once:

  gyre data build --vocab vocab.model --source train.en --target train.de \
    --output train.tok
  gyre data build --documents blank-line --vocab vocab.txt --source *.txt \
    --output text.tok
  gyre data info --store train.tok --verify
  gyre train nmt --train-sets train.tok --vocab vocab.model --model run ...

No text at hand: gyre data generate --output corpus/ writes English-German
sentence pairs about numbers, dates, times and prices.
)"},

    HelpTopic{"vocabularies", "the kinds of vocabularies, made here or elsewhere",
              R"(gyre vocab --type KIND writes a vocabulary; --vocab takes it everywhere.

unigram, bpe, char, word   SentencePiece, trained on --input
wordpiece                  BERT's vocab.txt, trained on --input or taken from
                           --dictionary
subword-nmt                merges of subword-nmt: --codes and --dictionary
words                      whole words: --dictionary
bytes                      every byte a token; needs nothing

  gyre vocab --input train.en train.de --type bpe --size 10000 \
    --output vocab.model
  gyre vocab --input books.txt --type wordpiece --size 8000 --output vocab.txt
  gyre vocab --type bytes --output bytes.model

A translation model has one vocabulary for both languages. A run keeps a copy,
and text is always read with it unless --vocab says otherwise.
)"}};

}  // namespace

std::span<const HelpTopic> help_topics() { return kTopics; }

const HelpTopic* help_topic(std::string_view name) {
  const auto topic =
      std::find_if(kTopics.begin(), kTopics.end(), [name](const HelpTopic& t) { return t.name == name; });
  return topic == kTopics.end() ? nullptr : &*topic;
}

}  // namespace gyre
