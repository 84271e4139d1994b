import{a}from"./part-IBQJKHIX.js";import"./part-H4FTJ6MS.js";import"./part-UH4IZOZ4.js";import"./part-JNAYWBY4.js";import"./part-SRZPABA3.js";import"./part-PLCOXVQE.js";export{a as openReportDialog};
