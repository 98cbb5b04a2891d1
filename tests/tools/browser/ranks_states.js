// Checks the overview of the buckets in a page of gyre inspect page of several ranks, and a step at which one leaves.
'use strict';

const ranksChecks = new PageChecks();
page.showBuckets();
ranksChecks.check('buckets');
page.walk.go(page.walk.last);
chooseInMaps(document);
ranksChecks.check('the last step');
