"""Events as messages to people: mail, Slack, Teams, webhooks and whatever else Apprise knows."""
