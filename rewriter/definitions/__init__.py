"""What CREATE and ALTER say of tables and views, as definitions, and what they may not say."""
