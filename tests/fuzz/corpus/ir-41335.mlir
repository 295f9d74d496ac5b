// fuzz: {"kind": "ir", "seed": 41335, "failure": "opt: traceback: TypeError: expected string or bytes-like object, got 'list'"}
"ttl.if_src"() <{net = @net}> ({
^bb0(%pipe : !ttl.pipe<@net, "src">):
^bb0(%pipe : !ttl.pipe<@net, "dst">):
