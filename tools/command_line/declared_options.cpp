#include "tools/command_line/declared_options.h"

#include "gyre/models/config/config.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "gyre/train/tasks/language/language_options.h"
#include "gyre/train/tasks/matching/match_options.h"
#include "gyre/train/tasks/translation/nmt_options.h"

namespace gyre {

std::vector<Option> declared_options() {
  std::vector<Option> all;
  for (const OptionList& list :
       {OptionList::of(NmtOptions()), OptionList::of(MaskedOptions()), OptionList::of(ClassifyOptions()),
        OptionList::of(MatchOptions()), OptionList::of(EncoderDecoderConfig()), OptionList::of(EncoderOnlyConfig())})
    for (const OptionList::Entry& entry : list.entries()) all.push_back(entry.option);
  return all;
}

}  // namespace gyre
