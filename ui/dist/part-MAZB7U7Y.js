import{a}from"./part-SCDWWOFC.js";import"./part-H4FTJ6MS.js";import"./part-EHXFFB5M.js";import"./part-JNAYWBY4.js";import"./part-SRZPABA3.js";import"./part-PLCOXVQE.js";export{a as openReportDialog};
