"""Language server: shows facts about a program in editors."""
