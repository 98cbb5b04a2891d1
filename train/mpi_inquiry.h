// Ranks that ask each other where they are: small messages on a communicator of their own, which every rank answers
// from a thread beside its work. A rank that was stopped, or is cut off, does not answer.
#pragma once

#include <optional>
#include <vector>

#include "train/mpi.h"
#include "train/whereabouts.h"

namespace gyre {

struct Answer {
  uint64_t waits = 0;  // how often the rank has waited for others so far, now included: the same count, the same call
  bool waiting = false;
  Moment moment;
};

class MpiInquiry {
 public:
  // Collective, as is the end.
  MpiInquiry();
  ~MpiInquiry();
  MpiInquiry(const MpiInquiry&) = delete;
  MpiInquiry& operator=(const MpiInquiry&) = delete;

  // Answers the questions that have come.
  void answer(const Answer& own);
  // Asks all other ranks; the answers are collected by calling hear() for a while: true when all have come.
  void ask();
  bool hear();
  // By rank; none of this rank's own, and of those that have not answered the last question.
  const std::vector<std::optional<Answer>>& answers() const { return answers_; }

  void tell_end();    // this rank has failed, says why, and ends all
  bool others_end();  // whether another has told so

 private:
  MPI_Comm ranks_ = MPI_COMM_NULL;
  int rank_ = 0;
  int64_t question_ = 0;
  std::vector<std::optional<Answer>> answers_;
};

// What keeps a wait from ending: "rank 2 does not answer: it was stopped or is cut off; rank 3 is in forward of update
// 12 for 61 s". `waits`: of the rank that asked.
std::string describe_missing(const std::vector<std::optional<Answer>>& answers, int asker, uint64_t waits);
// Whether there is nothing but slow ranks. Those that have not come must all answer, and none be in its phase for
// longer than it may (ten times as long where that takes time); if all have come, one must have done so within that
// time.
bool goes_on(const std::vector<std::optional<Answer>>& answers, int asker, uint64_t waits, double seconds);

}  // namespace gyre
