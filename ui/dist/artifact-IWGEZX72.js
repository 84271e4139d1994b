import"./part-I3L3FD3Y.js";import"./part-DQMDCZUB.js";import"./part-SHSGPQCV.js";import"./part-VWHBECVA.js";import"./part-FJOCNSFN.js";import"./part-PHRHVJA3.js";
