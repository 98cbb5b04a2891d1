// Walks through the lessons of a page of the documentation.
'use strict';

const lessonCounts = new WalkCounts();
for (const {view, walk} of lessons) if (walk) walkAll(walk, view, lessonCounts);
lessonCounts.publish({lessons: lessons.length});
