"""Jobs on sealed segments: their contract, the swap of a manifest, and what became of old segments.

The jobs themselves live above; what they share with the journal lives here. No Spark here.
"""
