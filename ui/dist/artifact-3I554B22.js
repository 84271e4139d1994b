import"./part-SI66LF6C.js";import"./part-WCVQO53I.js";import"./part-SHSGPQCV.js";import"./part-FJOCNSFN.js";import"./part-VWHBECVA.js";import"./part-PHRHVJA3.js";
