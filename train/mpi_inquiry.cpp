#include "train/mpi_inquiry.h"

#include <algorithm>

#include "core/error.h"

namespace gyre {
namespace {

enum Tag { kQuestion = 1, kAnswer, kEnd };

constexpr double kPatience = 10;  // times as long, for phases that take time

struct Message {  // as it travels
  int64_t question, waits, waiting, phase, update;
  double seconds;
};

bool has_come(const std::optional<Answer>& answer, uint64_t waits) { return answer && answer->waits >= waits; }

}  // namespace

MpiInquiry::MpiInquiry() {
  int size = 0;
  GYRE_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_));
  GYRE_MPI(MPI_Comm_rank(ranks_, &rank_));
  GYRE_MPI(MPI_Comm_size(ranks_, &size));
  answers_.resize(size_t(size));
}

MpiInquiry::~MpiInquiry() { MPI_Comm_free(&ranks_); }

void MpiInquiry::answer(const Answer& own) {
  for (;;) {
    int come = 0;
    MPI_Status status;
    GYRE_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kQuestion, ranks_, &come, &status));
    if (come == 0) return;
    int64_t question = 0;
    GYRE_MPI(MPI_Recv(&question, 1, MPI_INT64_T, status.MPI_SOURCE, kQuestion, ranks_, MPI_STATUS_IGNORE));
    const Message reply{question,
                        int64_t(own.waits),
                        own.waiting ? 1 : 0,
                        int64_t(own.moment.phase),
                        int64_t(own.moment.update),
                        own.moment.seconds};
    GYRE_MPI(MPI_Send(&reply, sizeof reply, MPI_BYTE, status.MPI_SOURCE, kAnswer, ranks_));
  }
}

void MpiInquiry::tell_end() {
  for (int rank = 0; rank < int(answers_.size()); ++rank) {
    MPI_Request never_waited_for = MPI_REQUEST_NULL;
    if (rank != rank_) GYRE_MPI(MPI_Isend(&question_, 0, MPI_INT64_T, rank, kEnd, ranks_, &never_waited_for));
  }
}

bool MpiInquiry::others_end() {
  int come = 0;
  GYRE_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kEnd, ranks_, &come, MPI_STATUS_IGNORE));
  return come != 0;
}

void MpiInquiry::ask() {
  ++question_;
  for (int rank = 0; rank < int(answers_.size()); ++rank) {
    answers_[size_t(rank)].reset();
    if (rank != rank_) GYRE_MPI(MPI_Send(&question_, 1, MPI_INT64_T, rank, kQuestion, ranks_));
  }
}

bool MpiInquiry::hear() {
  for (;;) {
    int come = 0;
    MPI_Status status;
    GYRE_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kAnswer, ranks_, &come, &status));
    if (come == 0) break;
    Message m{};
    GYRE_MPI(MPI_Recv(&m, sizeof m, MPI_BYTE, status.MPI_SOURCE, kAnswer, ranks_, MPI_STATUS_IGNORE));
    if (m.question != question_) continue;  // late, to an earlier one
    answers_[size_t(status.MPI_SOURCE)] =
        Answer{uint64_t(m.waits), m.waiting != 0, {uint64_t(m.update), m.seconds, Phase(m.phase)}};
  }
  return std::count(answers_.begin(), answers_.end(), std::nullopt) == 1;  // this rank's own
}

std::string describe_missing(const std::vector<std::optional<Answer>>& answers, int asker, uint64_t waits) {
  std::string text;
  for (int rank = 0; rank < int(answers.size()); ++rank) {
    const std::optional<Answer>& answer = answers[size_t(rank)];
    if (rank == asker || has_come(answer, waits)) continue;
    text += concat(text.empty() ? "" : "; ", "rank ", rank,
                   !answer           ? " does not answer: it was stopped or is cut off"
                   : answer->waiting ? concat(" waits for something else in ", answer->moment.text())
                                     : concat(" is in ", answer->moment.text()));
  }
  return text.empty() ? "all ranks have come: the network or the MPI library does not go on" : text;
}

bool goes_on(const std::vector<std::optional<Answer>>& answers, int asker, uint64_t waits, double seconds) {
  bool any_missing = false, all_missing_go_on = true, any_has_just_come = false;
  for (int rank = 0; rank < int(answers.size()); ++rank) {
    if (rank == asker) continue;
    const std::optional<Answer>& answer = answers[size_t(rank)];
    const bool is_new = answer && answer->moment.seconds < seconds * (takes_time(answer->moment.phase) ? kPatience : 1);
    if (has_come(answer, waits)) {
      any_has_just_come |= is_new;
    } else {
      any_missing = true;
      all_missing_go_on &= is_new;
    }
  }
  return any_missing ? all_missing_go_on : any_has_just_come;
}

}  // namespace gyre
