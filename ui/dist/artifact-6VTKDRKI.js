import"./part-WVVVDZHP.js";import"./part-WCVQO53I.js";import"./part-SHSGPQCV.js";import"./part-VWHBECVA.js";import"./part-FJOCNSFN.js";import"./part-PHRHVJA3.js";
