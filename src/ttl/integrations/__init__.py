"""Other systems' programs and formats; what is heavy is imported only when it is used."""
