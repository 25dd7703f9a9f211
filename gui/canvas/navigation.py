"""`NavigableView`: a view that zooms and pans a wide world; what it shows is its children's business."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QNativeGestureEvent, QTransform, QWheelEvent
from PySide6.QtWidgets import QFrame, QGraphicsScene, QGraphicsView, QWidget

from gui.canvas.camera import Camera
from gui.canvas.guard import guarded
from gui.canvas.levels import Level, next_level

WORLD = 4e6
REST_MS = 110
ZOOM_STEP = 1.2


class NavigableView(QGraphicsView):
    """Zoom to the pointer, pan, and the level of detail that follows.

    `zoom_changed(zoom)` comes with every zoom. While a hand moves the view and pictures are dear (`quick` is
    False), `moving` holds until it rests.
    """

    zoom_changed = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._level: Level = Level.PORTS
        self.moving = False
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self.come_to_rest)
        scene = QGraphicsScene(self)
        scene.setSceneRect(QRectF(-WORLD, -WORLD, 2 * WORLD, 2 * WORLD))
        self.setScene(scene)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setResizeAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.viewport().setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(320, 240)

    # What a view of something says

    @property
    def quick(self) -> bool:
        """Whether a picture is painted fast enough to follow the hand."""
        return True

    def camera_moved(self) -> None:
        """The view of the moment changed."""

    def recover(self) -> None:
        """Give up what was under way, after an event handler failed."""

    # Where one looks

    @property
    def camera(self) -> Camera:
        """The view of the moment."""
        transform = self.viewportTransform()
        viewport = self.viewport()
        return Camera(
            transform.m11(),
            transform.dx(),
            transform.dy(),
            viewport.width(),
            viewport.height(),
            viewport.devicePixelRatioF(),
        )

    @property
    def zoom(self) -> float:
        """Pixels per scene unit."""
        return float(self.viewportTransform().m11())

    @property
    def level(self) -> Level:
        """The level of detail that is drawn."""
        return self._level

    def zoom_to(self, zoom: float) -> None:
        """Zoom around the middle of the view; 1.0 is 100 %."""
        self.zoom_at(QPointF(self.viewport().rect().center()), zoom / self.zoom)

    def zoom_in(self) -> None:
        """One step nearer."""
        self.zoom_to(self.zoom * ZOOM_STEP)

    def zoom_out(self) -> None:
        """One step farther."""
        self.zoom_to(self.zoom / ZOOM_STEP)

    def zoom_at(self, view: QPointF, factor: float) -> None:
        """Zoom so that what is under a pixel stays there."""
        self.set_camera(self.camera.zoomed(factor, view), moving=True)

    def pan_by(self, dx: float, dy: float) -> None:
        """Shift the drawing by pixels."""
        self.set_camera(self.camera.moved(dx, dy), moving=True)

    def set_camera(self, camera: Camera, *, moving: bool = False) -> None:
        """Take a view. While `moving`, a dear picture is shifted and painted anew when the hand rests."""
        before = self.zoom
        self.setTransform(QTransform.fromScale(camera.zoom, camera.zoom))
        self.horizontalScrollBar().setValue(round(-camera.x))
        self.verticalScrollBar().setValue(round(-camera.y))
        if moving and not self.quick:
            self.moving = True
            self._rest.start()
        if self.zoom != before:
            if not self.moving:
                self._level = next_level(self._level, self.zoom)
            self.zoom_changed.emit(self.zoom)
        self.camera_moved()
        self.viewport().update()

    def come_to_rest(self) -> None:
        """The hand rests: take the level of detail of this zoom and paint sharply."""
        self.moving = False
        self._level = next_level(self._level, self.zoom)
        self.viewport().update()

    @guarded
    def wheelEvent(self, event: QWheelEvent) -> None:
        pixels = (
            QPointF(event.pixelDelta())
            if not event.pixelDelta().isNull()
            else QPointF(event.angleDelta()) / 2
        )
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            turned = event.angleDelta().y() or event.pixelDelta().y()
            self.zoom_at(event.position(), ZOOM_STEP ** (turned / 120))
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not pixels.x():
            self.pan_by(pixels.y(), 0)
        else:
            self.pan_by(pixels.x(), pixels.y())
        event.accept()

    def watch_events(self) -> None:
        """See events of the view and its viewport before they do, through `eventFilter`.

        Overriding `event` and `viewportEvent` would do too, but then every handler would be called by way of
        Python, and an exception in one ends the program.
        """
        self.installEventFilter(self)
        self.viewport().installEventFilter(self)

    @guarded
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            isinstance(event, QNativeGestureEvent)
            and watched is self.viewport()
            and event.gestureType() is Qt.NativeGestureType.ZoomNativeGesture
        ):
            self.zoom_at(event.position(), 1 + event.value())
            return True
        return False
