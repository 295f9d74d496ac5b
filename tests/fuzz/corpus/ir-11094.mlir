// fuzz: {"kind": "ir", "seed": 11094, "failure": "opt: traceback: ParseError"}
\ = tensor<64x32xbf16>
