import"./part-SAQRQZB7.js";import"./part-5V63H4TF.js";import"./part-RFZXQQ33.js";import"./part-WIY4BCT4.js";import"./part-SRZPABA3.js";import"./part-PLCOXVQE.js";import"./part-JNAYWBY4.js";
