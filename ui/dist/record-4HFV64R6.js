import"./part-DQMDCZUB.js";import"./part-SHSGPQCV.js";import"./part-FJOCNSFN.js";import"./part-PHRHVJA3.js";
