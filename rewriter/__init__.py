"""The pure middle: a statement's AST and a catalog snapshot in, a ``StatementPlan`` out.

    syntax/        text to statements
    rewriter       which statements are taken, and the rule of each
    access/        whether the client may run it
    rules/         one file per kind of statement, made of what stands in
    definitions/   what CREATE and ALTER say
    reading/       tables in queries become relations over journals
    writing/       changed rows become journal rows, guards and results
    invariants     what is checked of every plan before it leaves

Nothing here knows a driver, a clock, randomness or a file; importing it loads none of them.
"""
