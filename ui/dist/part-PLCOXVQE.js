var e=new URL("../",import.meta.url);export{e as a};
