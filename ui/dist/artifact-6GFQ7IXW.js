import"./part-FBZ5NV54.js";import"./part-BXMAHJUV.js";import"./part-DQMDCZUB.js";import"./part-SHSGPQCV.js";import"./part-FJOCNSFN.js";import"./part-VWHBECVA.js";import"./part-PHRHVJA3.js";
