// Checks the lessons of the documentation: as they open, and at their last step with elements chosen.
'use strict';

const lessonChecks = new PageChecks();
lessonChecks.check('as it opens');
for (const {view, walk} of lessons) {
  if (!walk) continue;
  walk.go(walk.last);
  chooseInMaps(view);
}
lessonChecks.check('backward');
