"""How ranks come to be and are watched: launchers, the meeting, the event stream, the runner."""
