autocmd BufRead,BufNewFile *.rx setfiletype rx
